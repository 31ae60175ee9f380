/** What requests take besides inputs, and what they come to. */

import type { Timings } from '../dispatch/types.js';
import type { AnyTensor } from '../tensor/tensor.js';
import type { TypedArray } from '../tensor/types.js';

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
