/** Shapes of what a server and its models tell of themselves: Triton's JSON, snake_case. */

import type { Datatype } from '../tensor/datatype.js';
import type { ModelState } from '../registry/published.js';

/** An input or output in metadata. */
export interface TensorMetadata {
  /** Its name. */
  readonly name: string;
  /** Protocol name of its datatype. */
  readonly datatype: Datatype;
  /** With -1 first for the batch where the model batches, and for variable dims. */
  readonly shape: readonly number[];
}

/** Triton's model metadata (`GET /v2/models/M`). */
export interface ModelMetadata {
  /** The model's name. */
  readonly name: string;
  /** The asked version, or all ready ones. */
  readonly versions: readonly string[];
  /** The config's platform, or its backend. */
  readonly platform: string;
  /** In the order of the configuration. */
  readonly inputs: readonly TensorMetadata[];
  /** In the order of the configuration. */
  readonly outputs: readonly TensorMetadata[];
}

/** Triton's server metadata (`GET /v2`). */
export interface ServerMetadata {
  /** 'tritonts'. */
  readonly name: string;
  /** Version of the package. */
  readonly version: string;
  /** Protocol extensions of Triton that this server has. */
  readonly extensions: readonly string[];
  /** Backends by name. */
  readonly backends: readonly string[];
  /** Devices that instances can be on: 'cpu', and 'gpu:0', 'gpu:1', … where a backend can use them. */
  readonly devices: readonly string[];
}

/** An entry of Triton's repository index. Of a model that was never loaded, the name only. */
export interface ModelStatus {
  /** The model's name. */
  readonly name: string;
  /** A version; absent where none is known. */
  readonly version?: string;
  /** Its state, or the model's where no version is known. */
  readonly state?: ModelState;
  /** Why it is in that state. */
  readonly reason?: string;
}

/** A count and a time, as in Triton's statistics. */
export interface StatisticDuration {
  /** How often. */
  readonly count: number;
  /** Nanoseconds in all. */
  readonly ns: number;
}

/** Triton's statistics of a model version (`GET /v2/models/M/stats`), counts and nanoseconds as numbers. */
export interface ModelStatistics {
  /** The model's name. */
  readonly name: string;
  /** Its version, as text. */
  readonly version: string;
  /** Milliseconds since 1970 of the last batch; 0: none yet. */
  readonly last_inference: number;
  /** Items of successful requests: rows of a batching model, else requests. */
  readonly inference_count: number;
  /** Batches that ran. */
  readonly execution_count: number;
  /** Of requests. */
  readonly inference_stats: {
    /** Requests that were answered, from call to answer. */
    readonly success: StatisticDuration;
    /** Requests that failed or were cancelled after they were queued. */
    readonly fail: StatisticDuration;
    /** Their time in the queue. */
    readonly queue: StatisticDuration;
    /** Gathering inputs. */
    readonly compute_input: StatisticDuration;
    /** The model itself. */
    readonly compute_infer: StatisticDuration;
    /** Distributing outputs. */
    readonly compute_output: StatisticDuration;
    /** Answers from the response cache; none, as there is no such cache. */
    readonly cache_hit: StatisticDuration;
    /** Look-ups in vain; none. */
    readonly cache_miss: StatisticDuration;
  };
  /** By response number, of models that answer more than once. */
  readonly response_stats: Readonly<Record<string, never>>;
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
  /** Memory that the model takes; empty, as it is not measured. */
  readonly memory_usage: readonly {
    /** 'CPU' or 'GPU'. */
    readonly type: string;
    /** Which one. */
    readonly id: number;
    /** Bytes. */
    readonly byte_size: number;
  }[];
}

/** How a version is run. */
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
  /** What runs batches, one at a time each. */
  readonly instances: readonly {
    /** As Triton names it: group, and number in the group. */
    readonly name: string;
    /** KIND_CPU or KIND_GPU. */
    readonly kind: string;
    /** Id of the GPU; 0 on the CPU. */
    readonly device: number;
  }[];
  /** Threads that a run may use; 0: unknown to us. */
  readonly intraOpThreads: number;
  /** Whether those are the runtime's one pool for all models. */
  readonly sharedPool: boolean;
  /** Whether its threads spin before they sleep. */
  readonly spinning: boolean;
  /**
   * Why no batch of it runs on the JS thread, whatever `inline` says: its time may depend on the data, because "the model
   * has the operator Loop"; undefined: nothing speaks against it.
   */
  readonly neverInline: string | undefined;
}
