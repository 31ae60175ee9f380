/** What requests take besides inputs, and what they come to. */

import type { Timings } from '../dispatch/types.js';
import type { TritonError } from '../errors.js';
import type { AnyTensor } from '../tensor/tensor.js';
import type { TypedArray } from '../tensor/types.js';

/** Values that a request or a response may carry besides tensors. */
export type RequestParameters = Readonly<Record<string, string | number | bigint | boolean>>;

/**
 * What a request came to. `JSON.stringify` writes all of it; see {@link TensorJSON} for the tensors.
 *
 * @typeParam O - Its outputs, by name where the model is in {@link ModelRegistry}.
 *
 * @example
 * const { outputs, timings } = await model.infer({ image });
 * outputs.scores?.as('FP32').data; // a Float32Array
 * timings.batchSize; // how many items ran together
 */
export interface InferResult<O = Readonly<Record<string, AnyTensor>>> {
  /** The version that answered. */
  readonly model: {
    /** Name of the model. */
    readonly name: string;
    /** Its version, as text. */
    readonly version: string;
  };
  /** The request's id; empty without one. */
  readonly id: string;
  /** By name; without inherited properties. */
  readonly outputs: O;
  /** What the model's backend returned besides outputs; empty for those that return none. */
  readonly parameters: RequestParameters;
  /** Of the batch that the request ran in. */
  readonly timings: Timings;
}

/**
 * An output that a request wants.
 *
 * @typeParam N - Names that the model's outputs have.
 */
export interface RequestedOutput<N extends string = string> {
  /** Its name. */
  readonly name: N;
  /**
   * Return the best classes instead of the values, this many of each item: a BYTES tensor of `value:index`, or
   * `value:index:label` for a model with labels; 0 (default): the values. Triton: `classification`.
   */
  readonly classification?: number | undefined;
}

/** The outputs that a request wants: by name, or with how. */
export type RequestedOutputs<N extends string = string> = readonly (N | RequestedOutput<N>)[];

/**
 * Options of a request.
 *
 * @typeParam N - Names that the model's outputs have.
 * @typeParam W - The type of `outputs`, which tells what the result has.
 *
 * @example
 * await model.infer({ image }, { id: 'a1', outputs: ['label'], signal: AbortSignal.timeout(1000) });
 */
export interface InferOptions<
  N extends string = string,
  W extends RequestedOutputs<N> | undefined = RequestedOutputs<N> | undefined,
> {
  /** Comes back with the result, and stands in messages. Triton: `id`. */
  readonly id?: string | undefined;
  /** Outputs to return (default: all). Triton: `outputs`. */
  readonly outputs?: W | undefined;
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
  readonly into?: { readonly [K in N]?: TypedArray | undefined } | undefined;
}

/**
 * Options of {@link Model.map}.
 *
 * @typeParam N - Names that the model's outputs have.
 * @typeParam W - The type of `outputs`, which tells what each result has.
 *
 * @example
 * for await (const { index, result, error } of model.map(items, { ordered: false, onError: 'yield' })) {
 *   if (error) console.error(`item ${index}: ${error.message}`);
 *   else save(index, result.outputs);
 * }
 */
export interface MapOptions<
  N extends string = string,
  W extends RequestedOutputs<N> | undefined = RequestedOutputs<N> | undefined,
> {
  /** Requests in flight at once, and how far is read ahead (default: enough for two batches of every instance). */
  readonly concurrency?: number | undefined;
  /** As in {@link InferOptions}. */
  readonly outputs?: W | undefined;
  /** Ends the iteration with CANCELLED. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether results come in the order of the items (default true). With false each comes as soon as it is there, with
   * the item's index.
   */
  readonly ordered?: boolean | undefined;
  /**
   * 'throw' (default): the first item that fails ends the iteration with its error. 'yield': its error is yielded with
   * the item's index, and the others go on. An error of the iterable itself, and the signal, end it all the same.
   */
  readonly onError?: 'throw' | 'yield' | undefined;
}

/** An item's result, from a {@link Model.map} that does not keep the order. */
export interface MapResult<R = InferResult> {
  /** Which item it is, from 0. */
  readonly index: number;
  /** As from {@link Model.infer}. */
  readonly result: R;
  /** Of an item that failed; see {@link MapError}. */
  readonly error?: undefined;
}

/** An item's error, from a {@link Model.map} with `onError: 'yield'`. */
export interface MapError {
  /** Which item it is, from 0. */
  readonly index: number;
  /** Of an item that did not fail; see {@link MapResult}. */
  readonly result?: undefined;
  /** Why it failed. What a getter of the item threw is its `cause`. */
  readonly error: TritonError;
}

/** What became of an item, from a {@link Model.map} with `onError: 'yield'`. */
export type MapOutcome<R = InferResult> = MapResult<R> | MapError;
