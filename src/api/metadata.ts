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
  /** Its name. */
  readonly name: string;
  /** Protocol name of its datatype, such as 'FP32'. */
  readonly datatype: Datatype;
  /** Its shape. -1 stands for a variable dim, and comes first for the batch if the model batches. */
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
  /** The pinned version, or all ready versions. */
  readonly versions: readonly string[];
  /** The config's platform, or its backend. */
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
  /** The option `id`; by default 'tritonts'. */
  readonly name: string;
  /** Version of the package. */
  readonly version: string;
  /** The protocol extensions of Triton that this server has. */
  readonly extensions: readonly string[];
  /** Names of the backends. */
  readonly backends: readonly string[];
  /** The devices that instances can be on: 'cpu', and 'gpu:0', 'gpu:1', … if a backend can use them. */
  readonly devices: readonly string[];
}

/**
 * An entry of Triton's repository index. For a model that was never loaded it has only the name.
 *
 * @example
 * const failed = server.index().filter(({ state }) => state === 'UNAVAILABLE');
 */
export interface ModelStatus {
  /** The model's name. */
  readonly name: string;
  /** The version; absent if none is known. */
  readonly version?: string;
  /** State of the version, or of the model if no version is known. */
  readonly state?: ModelState;
  /** Why it is in that state; absent if there is nothing to say. */
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
  /** How many times it happened. */
  readonly count: number;
  /** The total time in nanoseconds. */
  readonly ns: number;
}

/**
 * Statistics of the k-th responses of a decoupled model's requests, with Triton's names. Times are counted from the request's
 * response before, or, for the first one, from when its batch had its inputs. So they include what a model waits for its caller to read.
 *
 * @example
 * const first = model.statistics().response_stats['0'];
 * if (first) console.log(`${first.success.ns / first.success.count / 1e6} ms until the first response`);
 */
export interface ResponseStatistic {
  /** Computing the response: of those that succeeded, failed or were empty. */
  readonly compute_infer: StatisticDuration;
  /** Taking its outputs from the model: of those that succeeded or failed. */
  readonly compute_output: StatisticDuration;
  /** Responses with outputs, and both times together. */
  readonly success: StatisticDuration;
  /** Responses that were an error, and both times together. */
  readonly fail: StatisticDuration;
  /** Ends without a response: the model said that no more come. */
  readonly empty_response: StatisticDuration;
  /** Ends because the request was cancelled. */
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
  /** The version, as text. */
  readonly version: string;
  /** When the last batch ran, in milliseconds since 1970; 0 if none ran. */
  readonly last_inference: number;
  /** Items of successful requests: rows for a model that batches, otherwise requests. */
  readonly inference_count: number;
  /** Batches that ran. */
  readonly execution_count: number;
  /** Counts and times of requests. */
  readonly inference_stats: {
    /** Requests that were answered, from call to answer. */
    readonly success: StatisticDuration;
    /** Requests that failed or were cancelled after they were queued. */
    readonly fail: StatisticDuration;
    /** Time in the queue. */
    readonly queue: StatisticDuration;
    /** Gathering inputs. */
    readonly compute_input: StatisticDuration;
    /** The model itself. */
    readonly compute_infer: StatisticDuration;
    /** Distributing outputs. */
    readonly compute_output: StatisticDuration;
    /** Responses from the response cache. It is always 0: there is no such cache yet. */
    readonly cache_hit: StatisticDuration;
    /** Lookups in the response cache that found nothing. It is always 0. */
    readonly cache_miss: StatisticDuration;
  };
  /** Why requests failed: the parts of `fail`, with the words of Triton's metrics. */
  readonly fail_reasons: {
    /** They timed out in the queue. */
    readonly REJECTED: number;
    /** They were cancelled. */
    readonly CANCELED: number;
    /** The backend responded with an error. */
    readonly BACKEND: number;
    /** There was no memory or no thread, or the version was unloaded while they were in it. */
    readonly OTHER: number;
  };
  /** Requests that were never accepted, mostly because the queue was full. They are not part of `fail`. */
  readonly refused: number;
  /**
   * Runs of halves of batches that failed as a whole. They are part of `execution_count`, as the failed batches are;
   * in `batch_stats` each run that answered a request has its own size. See docs/queueing.md.
   */
  readonly reruns: number;
  /**
   * For a decoupled model, by the number of the response within its request: `'0'` has the first responses of all
   * requests. The first 256 responses of a request are counted; what comes after them is in no entry. Empty for other
   * models, and for ensembles, as in Triton. See docs/streams.md.
   */
  readonly response_stats: Readonly<Record<string, ResponseStatistic>>;
  /** One entry for each batch size that ran. */
  readonly batch_stats: readonly {
    /** Rows of the batches. */
    readonly batch_size: number;
    /** Gathering their inputs. */
    readonly compute_input: StatisticDuration;
    /** The model itself. */
    readonly compute_infer: StatisticDuration;
    /** Distributing their outputs. */
    readonly compute_output: StatisticDuration;
  }[];
  /**
   * Memory that the runtime holds for the version until it is unloaded, one entry for each device: weights, and what its arena keeps for
   * intermediate results. ONNX Runtime tells it from 1.23 on, unless `enable_mem_arena` is 0. Empty where nobody tells, and for
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
    /** Its name as in Triton: the group's, and its number in the group. */
    readonly name: string;
    /** KIND_CPU or KIND_GPU. */
    readonly kind: string;
    /** Id of the GPU; 0 on the CPU. */
    readonly device: number;
  }[];
  /** How many threads a run may use; 0 if that is not known. */
  readonly intraOpThreads: number;
  /** Whether these are the runtime's one pool for all models. */
  readonly sharedPool: boolean;
  /** Whether its threads spin before they sleep. */
  readonly spinning: boolean;
  /**
   * Why no batch of it ever runs on the JS thread, whatever `inline` says: its time may depend on the data,
   * such as "the model has the operator Loop"; undefined if nothing prevents it.
   */
  readonly neverInline: string | undefined;
}
