/** What a server and its models report about themselves, in Triton's JSON shape with snake_case names. */

import type { Datatype } from '../tensor/datatype.js';

/** Triton's states of a model version. */
export type ModelState = 'UNKNOWN' | 'READY' | 'UNAVAILABLE' | 'LOADING' | 'UNLOADING';

/**
 * An input or output in metadata.
 *
 * @example
 * const { name, datatype, shape } = model.metadata.inputs[0]!; // 'image', 'FP32', [-1, 64]
 */
export interface TensorMetadata {
  /** The tensor's name. */
  readonly name: string;
  /** Protocol name of the datatype, such as 'FP32'. */
  readonly datatype: Datatype;
  /**
   * The tensor's shape. -1 stands for a variable dim. If the model batches, the first dim is the batch, which
   * is -1.
   */
  readonly shape: readonly number[];
}

/**
 * Triton's model metadata (`GET /v2/models/M`).
 *
 * @example
 * const { platform, inputs, outputs } = model.metadata;
 */
export interface ModelMetadata {
  /** The model's name. */
  readonly name: string;
  /** The version that the handle is pinned to, or all ready versions. */
  readonly versions: readonly string[];
  /** The configuration's platform, or its backend. */
  readonly platform: string;
  /** The inputs, in the order of the configuration. */
  readonly inputs: readonly TensorMetadata[];
  /** The outputs, in the order of the configuration. */
  readonly outputs: readonly TensorMetadata[];
}

/**
 * Triton's server metadata (`GET /v2`).
 *
 * @example
 * const { version, backends, devices } = server.metadata();
 */
export interface ServerMetadata {
  /** The server's option `id`; by default 'tritonts'. */
  readonly name: string;
  /** Version of the package. */
  readonly version: string;
  /** The extensions of Triton's protocol that this server supports. */
  readonly extensions: readonly string[];
  /** Names of the backends. */
  readonly backends: readonly string[];
  /** The devices that instances can run on: 'cpu', and 'gpu:0', 'gpu:1', … if a backend can use them. */
  readonly devices: readonly string[];
}

/**
 * An entry of Triton's repository index. A model that was never loaded has only its name here.
 *
 * @example
 * const failed = server.index().filter(({ state }) => state === 'UNAVAILABLE');
 */
export interface ModelStatus {
  /** The model's name. */
  readonly name: string;
  /** With `modelNamespacing`, its repository. */
  readonly namespace?: string;
  /** The version; absent if none is known. */
  readonly version?: string;
  /** State of the version, or of the model if no version is known. */
  readonly state?: ModelState;
  /** Why the version is in that state; absent if there is no reason to report. */
  readonly reason?: string;
}

/**
 * A count and a time, as in Triton's statistics.
 *
 * @example
 * const { count, ns } = statistics.inference_stats.queue;
 * console.log(`${ns / count / 1000} µs in the queue on average`);
 */
export interface StatisticDuration {
  /** How many events were counted. */
  readonly count: number;
  /** The total time in nanoseconds. */
  readonly ns: number;
}

/**
 * Statistics of the k-th responses of a decoupled model's requests, with Triton's names. A time is counted from
 * the request's previous response. For the first response it is counted from when the batch had its inputs. So
 * the times include the time that a model waits for its caller to read.
 *
 * @example
 * const first = model.statistics().response_stats['0'];
 * if (first) console.log(`${first.success.ns / first.success.count / 1e6} ms until the first response`);
 */
export interface ResponseStatistic {
  /** Time to compute the response, of responses that succeeded, failed or were empty. */
  readonly compute_infer: StatisticDuration;
  /** Time to take the response's outputs from the model, of responses that succeeded or failed. */
  readonly compute_output: StatisticDuration;
  /** Responses with outputs, with the sum of both times. */
  readonly success: StatisticDuration;
  /** Responses that were an error, with the sum of both times. */
  readonly fail: StatisticDuration;
  /** Requests that ended without a further response, because the model said that no more come. */
  readonly empty_response: StatisticDuration;
  /** Requests that ended because they were cancelled. */
  readonly cancel: StatisticDuration;
}

/**
 * Triton's statistics of a model version (`GET /v2/models/M/stats`), with counts and nanoseconds as numbers.
 *
 * @example
 * const { inference_count, execution_count } = model.statistics();
 * console.log(`${inference_count / execution_count} items a batch`);
 */
export interface ModelStatistics {
  /** The model's name. */
  readonly name: string;
  /** With `modelNamespacing`, its repository. */
  readonly namespace?: string;
  /** The version, as text. */
  readonly version: string;
  /** When the last batch ran, in milliseconds since 1970; 0 if none ran. */
  readonly last_inference: number;
  /** Items of successful requests: rows if the model batches, otherwise requests. */
  readonly inference_count: number;
  /** Batches that ran. */
  readonly execution_count: number;
  /** Counts and times of requests. */
  readonly inference_stats: {
    /** Requests that were answered, with the time from the call to the answer. */
    readonly success: StatisticDuration;
    /** Requests that failed or were cancelled after they were queued. */
    readonly fail: StatisticDuration;
    /** Time in the queue. */
    readonly queue: StatisticDuration;
    /** Gathering inputs. */
    readonly compute_input: StatisticDuration;
    /** Running the model itself. */
    readonly compute_infer: StatisticDuration;
    /** Distributing outputs. */
    readonly compute_output: StatisticDuration;
    /** Requests that the response cache answered, with the time of their look-ups. They are part of `success`. */
    readonly cache_hit: StatisticDuration;
    /** Requests that the response cache could not answer, with the time of their look-ups and insertions. */
    readonly cache_miss: StatisticDuration;
  };
  /** Why requests failed: the parts of `fail`, with the reasons of Triton's metrics. */
  readonly fail_reasons: {
    /** Requests that timed out in the queue. */
    readonly REJECTED: number;
    /** Requests that were cancelled. */
    readonly CANCELED: number;
    /** Requests for which the backend responded with an error. */
    readonly BACKEND: number;
    /**
     * Requests that failed because there was no memory or no thread, or because the version was unloaded before
     * they ended.
     */
    readonly OTHER: number;
  };
  /** Requests that were never accepted, mostly because the queue was full. They are not part of `fail`. */
  readonly refused: number;
  /**
   * Runs of half a batch, after the whole batch had failed. `execution_count` counts them, and the failed
   * batches too. `batch_stats` counts each run that answered a request under its own size. See
   * docs/queueing.md.
   */
  readonly reruns: number;
  /**
   * Statistics of a decoupled model's responses, by the number of the response within its request. `'0'` has
   * the first responses of all requests. Only the first 256 responses of a request are counted. Empty for other
   * models, and for ensembles, as in Triton. See docs/streams.md.
   */
  readonly response_stats: Readonly<Record<string, ResponseStatistic>>;
  /** One entry for each batch size that ran. */
  readonly batch_stats: readonly {
    /** Rows of the batches. */
    readonly batch_size: number;
    /** Gathering their inputs. */
    readonly compute_input: StatisticDuration;
    /** Running the model itself. */
    readonly compute_infer: StatisticDuration;
    /** Distributing their outputs. */
    readonly compute_output: StatisticDuration;
  }[];
  /**
   * Memory that the runtime holds for the version until it is unloaded, one entry for each device. It consists
   * of the weights, and of what the runtime's arena keeps for intermediate results. ONNX Runtime reports it
   * from version 1.23 on, unless `enable_mem_arena` is 0. Empty if the runtime does not report it, and for
   * other backends. See docs/models.md.
   */
  readonly memory_usage: readonly {
    /** 'CPU' or 'GPU'. */
    readonly type: string;
    /** Id of the device. */
    readonly id: number;
    /** How many bytes. */
    readonly byte_size: number;
  }[];
}

/**
 * How a version runs. Triton has no counterpart.
 *
 * @example
 * const { library, instances, intraOpThreads } = model.runtimeInfo();
 */
export interface RuntimeInfo {
  /** The runtime's library; undefined for backends without one. */
  readonly library:
    | {
        /** Path of its file. */
        readonly path: string;
        /** Its version. */
        readonly version: string;
      }
    | undefined;
  /** The instances, each of which runs one batch at a time. */
  readonly instances: readonly {
    /** The instance's name as in Triton: the name of its group, and its number in the group. */
    readonly name: string;
    /** KIND_CPU or KIND_GPU. */
    readonly kind: string;
    /** Id of the GPU; 0 on the CPU. */
    readonly device: number;
    /** What its threads are bound to; undefined: nothing. See {@link ServerOptions.hostPolicies}. */
    readonly hostPolicy?:
      | {
          /** The policy's name. */
          readonly name: string;
          /** The first and the last core of each range; empty: all cores. */
          readonly cores: readonly { readonly first: number; readonly last: number }[];
          /** The NUMA node of its memory; undefined: any. */
          readonly numaNode?: number | undefined;
        }
      | undefined;
  }[];
  /** How many threads a run may use; 0 if unknown. */
  readonly intraOpThreads: number;
  /** Whether these threads are the runtime's single pool that all models share. */
  readonly sharedPool: boolean;
  /**
   * When these threads spin before they sleep: not at all, also between runs, or only while a run is under way. The last one is the
   * default for large ONNX models with one instance, if ONNX Runtime is 1.26 or newer and more than one core is there.
   */
  readonly spinning: 'off' | 'always' | 'within runs';
  /**
   * Why no batch of this version ever runs on the JS thread, whatever the option `inline` says. The reason is
   * that its time may depend on the data, such as "the model has the operator Loop". Undefined if its batches
   * may run there.
   */
  readonly neverInline: string | undefined;
}
