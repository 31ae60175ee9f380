/** Shapes of what a server and its models tell of themselves: Triton's JSON, snake_case. */

import type { Datatype } from '../tensor/datatype.js';
import type { ModelState } from '../registry/published.js';

/** An input or output in metadata. */
export interface TensorMetadata {
  readonly name: string;
  readonly datatype: Datatype;
  /** With -1 first for the batch where the model batches, and for variable dims. */
  readonly shape: readonly number[];
}

/** Triton's model metadata (`GET /v2/models/M`). */
export interface ModelMetadata {
  readonly name: string;
  /** The asked version, or all ready ones. */
  readonly versions: readonly string[];
  /** The config's platform, or its backend. */
  readonly platform: string;
  readonly inputs: readonly TensorMetadata[];
  readonly outputs: readonly TensorMetadata[];
}

/** Triton's server metadata (`GET /v2`). */
export interface ServerMetadata {
  readonly name: string;
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
  readonly name: string;
  readonly version?: string;
  readonly state?: ModelState;
  /** Why it is in that state. */
  readonly reason?: string;
}

/** A count and a time, as in Triton's statistics. */
export interface StatisticDuration {
  readonly count: number;
  /** Nanoseconds in all. */
  readonly ns: number;
}

/** Triton's statistics of a model version (`GET /v2/models/M/stats`), counts and nanoseconds as numbers. */
export interface ModelStatistics {
  readonly name: string;
  readonly version: string;
  /** Milliseconds since 1970 of the last batch; 0: none yet. */
  readonly last_inference: number;
  /** Items of successful requests: rows of a batching model, else requests. */
  readonly inference_count: number;
  /** Batches that ran. */
  readonly execution_count: number;
  readonly inference_stats: {
    readonly success: StatisticDuration;
    readonly fail: StatisticDuration;
    readonly queue: StatisticDuration;
    readonly compute_input: StatisticDuration;
    readonly compute_infer: StatisticDuration;
    readonly compute_output: StatisticDuration;
    readonly cache_hit: StatisticDuration;
    readonly cache_miss: StatisticDuration;
  };
  /** By response number, of models that answer more than once. */
  readonly response_stats: Readonly<Record<string, never>>;
  /** One entry for each batch size that ran. */
  readonly batch_stats: readonly {
    readonly batch_size: number;
    readonly compute_input: StatisticDuration;
    readonly compute_infer: StatisticDuration;
    readonly compute_output: StatisticDuration;
  }[];
  readonly memory_usage: readonly {
    readonly type: string;
    readonly id: number;
    readonly byte_size: number;
  }[];
}

/** How a version is run. */
export interface RuntimeInfo {
  /** The runtime's library; undefined for backends without one. */
  readonly library: { readonly path: string; readonly version: string } | undefined;
  readonly instances: readonly { readonly name: string; readonly kind: string; readonly device: number }[];
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
