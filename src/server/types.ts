/** Shapes of what a server and its models tell of themselves: Triton's JSON, snake_case. */

import type { Datatype } from '../tensor/datatype.js';
import type { Timings } from '../dispatch/types.js';
import type { AnyTensor } from '../tensor/output.js';
import type { TypedArray } from '../tensor/types.js';
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
  /** Devices that instances can be on. */
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

/** Values that a request or a response may carry besides tensors. */
export type Parameters = Readonly<Record<string, string | number | bigint | boolean>>;

/** What a request came to. */
export interface InferResult {
  /** The version that answered. */
  readonly model: { readonly name: string; readonly version: string };
  /** The request's id; empty without one. */
  readonly id: string;
  /** By name; without inherited properties. */
  readonly outputs: Readonly<Record<string, AnyTensor>>;
  readonly parameters: Parameters;
  readonly timings: Timings;
}

/** An output that a request wants. */
export interface RequestedOutput {
  readonly name: string;
  /**
   * Return the best classes instead of the values, this many of each item: a BYTES tensor of `value:index`, or
   * `value:index:label` for a model with labels; 0 (default): the values. Triton: `classification`.
   */
  readonly classification?: number | undefined;
}

/** Options of a request. */
export interface InferOptions {
  /** Comes back with the result, and stands in messages. Triton: `id`. */
  readonly id?: string | undefined;
  /** Outputs to return (default: all). Triton: `outputs`. */
  readonly outputs?: readonly (string | RequestedOutput)[] | undefined;
  /** A waiting request rejects at once, with CANCELLED; so does a running one, whose rows are then dropped. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Large outputs (64 KiB and more, and those beyond 128 KiB of outputs in one answer) in memory that V8 allocated, at the
   * cost of a copy (default false): such an output can be transferred to another thread; an external one cannot on
   * Node ≥ 22.
   */
  readonly ownOutputs?: boolean | undefined;
  /**
   * Arrays for outputs, by name (default: none): such an output is written there, when the request has its answer, and the
   * array is its `data`. It must be of the class that `data` has, with just as many elements as the output; over a
   * SharedArrayBuffer, too. Until then it is not touched; where it was transferred or resized meanwhile, the request
   * rejects with INVALID_ARG. Not for BYTES.
   *
   * @example
   * const scores = new Float32Array(10);
   * await model.infer({ image }, { into: { scores } }); // no memory is allocated for them
   */
  readonly into?: Readonly<Record<string, TypedArray>> | undefined;
}

/** Options of {@link Model.map}. */
export interface MapOptions {
  /** Requests in flight at once, and how far is read ahead (default: enough for two batches of every instance). */
  readonly concurrency?: number | undefined;
  /** As in {@link InferOptions}. */
  readonly outputs?: InferOptions['outputs'];
  /** Ends the iteration with CANCELLED. */
  readonly signal?: AbortSignal | undefined;
}
