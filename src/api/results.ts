/** The options of requests, and their results. */

import type { Timings } from './timings.js';
import type { TritonError } from '../errors.js';
import type { ModelRequest } from './model-request.js';
import type { RequestParameters } from './request-parameters.js';
import type { Inputs } from '../tensor/inputs.js';
import type { AnyTensor } from '../tensor/tensor.js';
import type { TypedArray } from '../tensor/types.js';
import type { RequestSequence } from './request-sequence.js';

/**
 * The result of a request. `JSON.stringify` writes all of it; {@link TensorJSON} describes the tensors.
 *
 * @typeParam O - The type of the outputs: by name, if the model is in {@link ModelRegistry}.
 *
 * @example
 * const { outputs, timings } = await model.infer({ image });
 * outputs.scores?.as('FP32').data; // a Float32Array
 * timings.batchSize; // how many items ran together
 */
export interface InferResult<O = Readonly<Record<string, AnyTensor>>> {
  /** The model version that answered. */
  readonly model: {
    /** Name of the model. */
    readonly name: string;
    /** Its version, as text. */
    readonly version: string;
  };
  /** The request's id; empty if the request had none. Triton: `id`. */
  readonly id: string;
  /** The outputs by name. The object has no inherited properties. Triton: `outputs`. */
  readonly outputs: O;
  /**
   * Values that the model returned besides outputs; empty if it returned none. Integers are numbers, or bigints
   * beyond `Number.MAX_SAFE_INTEGER`. Triton: `parameters`.
   */
  readonly parameters: RequestParameters;
  /** The times of the batch that the request ran in. */
  readonly timings: Timings;
}

/**
 * An output that the caller asks for.
 *
 * @typeParam N - Names of the model's outputs.
 *
 * @example
 * await model.infer({ image }, { outputs: [{ name: 'scores', classification: 3 }] });
 */
export interface RequestedOutput<N extends string = string> {
  /** Name of the output. */
  readonly name: N;
  /**
   * How many of the best classes of each item to return instead of the values (default 0: return the values).
   * The output is then a BYTES tensor of `value:index`, or of `value:index:label` if the model has labels. The
   * request fails with INVALID_ARG if the output has more than 1,048,576 elements, or if more than 65,536
   * classes are asked for over all items. Triton: `classification`.
   */
  readonly classification?: number | undefined;
}

/** The outputs that the caller asks for: each by its name, or as a {@link RequestedOutput}. */
export type RequestedOutputs<N extends string = string> = readonly (N | RequestedOutput<N>)[];

/**
 * Options of a request.
 *
 * @typeParam N - Names of the model's outputs.
 * @typeParam W - The type of `outputs`, which determines the outputs of the result.
 *
 * @example
 * await model.infer({ image }, { id: 'a1', outputs: ['label'], signal: AbortSignal.timeout(1000) });
 */
export interface InferOptions<
  N extends string = string,
  W extends RequestedOutputs<N> | undefined = RequestedOutputs<N> | undefined,
> {
  /** A text that is returned with the result and appears in messages (default: empty). Triton: `id`. */
  readonly id?: string | undefined;
  /** The outputs to return (default: all). Triton: `outputs`. */
  readonly outputs?: W | undefined;
  /**
   * Cancels the request (default: none). The promise rejects at once with CANCELLED. If the request was
   * running, its batch continues and the request's rows are dropped.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether to return large outputs in memory that V8 allocated, at the cost of a copy (default false). Such
   * outputs can be transferred to another thread; external ones cannot on Node ≥ 22. An output is large if it
   * has 64 KiB or more, or follows 128 KiB of other outputs in the same response.
   */
  readonly ownOutputs?: boolean | undefined;
  /**
   * Arrays to write outputs to, by name (default: none). When the response arrives, the output is written to
   * its array, which becomes the tensor's `data`. The array must have the class that `data` would have, and as
   * many elements as the output. It may lie in a SharedArrayBuffer. It is not touched before the response
   * arrives. If the array was transferred or resized meanwhile, the request rejects with INVALID_ARG. BYTES
   * outputs cannot be written this way.
   *
   * @example
   * const scores = new Float32Array(10);
   * await model.infer({ image }, { into: { scores } }); // no memory is allocated for them
   */
  readonly into?: { readonly [K in N]?: TypedArray | undefined } | undefined;
  /**
   * The request's priority level, for a model with `priority_levels`; level 1 is served first. The model's
   * `default_priority_level` is used if it is absent, 0, or greater than the number of levels. Other models
   * ignore it. Triton: `priority`.
   */
  readonly priority?: number | undefined;
  /**
   * How long the request may wait in the queue, in microseconds. It takes effect if the model's queue policy
   * has `allow_timeout_override` and no shorter time-out of its own. After that time the request rejects with
   * UNAVAILABLE, or, with the action DELAY, goes behind other requests. A running request is not interrupted.
   * Other models ignore it. For a limit that always holds, use {@link timeoutMs}. Triton: `timeout`.
   */
  readonly timeoutUs?: number | undefined;
  /**
   * How long to wait for the answer, in milliseconds (default 0: no limit), whatever the model's queue policy
   * is. After that time the request rejects with UNAVAILABLE and `reason` TIMED_OUT, at most 1 ms or 2 % late.
   * As with {@link signal}, a waiting request leaves its queue, and the rows of a running one are dropped. For
   * `stream` the time covers all responses.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Only for JavaScript models (default: none): the request, as `execute` received it, that this call is made
   * for. If that request is cancelled, this call is cancelled too. If this call could only be answered after a
   * request that waits for it, it rejects at once with UNAVAILABLE and a message that names the models. A call
   * nested within 32 others rejects with INVALID_ARG. Triton: BLS.
   *
   * @example
   * const { outputs } = await server.infer('encoder', { ids }, { parent: request });
   */
  readonly parent?: ModelRequest | undefined;
  /**
   * Parameters that the model receives with the request (default: none). Integers may have 64 bits. Triton:
   * request parameters.
   */
  readonly parameters?: RequestParameters | undefined;
  /**
   * The sequence that the request belongs to (default: none). A model with `sequence_batching` runs the requests
   * of a sequence one after the other, in the order in which they were sent; each must have one row. Other
   * models only receive it. {@link Model.sequence} sets it for each request. Triton: `sequence_id`,
   * `sequence_start`, `sequence_end`.
   */
  readonly sequence?: RequestSequence | undefined;
}

/**
 * Options of {@link Model.map}.
 *
 * @typeParam N - Names of the model's outputs.
 * @typeParam W - The type of `outputs`, which determines the outputs of each result.
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
  /**
   * How many requests may be in flight at once, and how many items are read ahead (default: two batches for
   * every instance).
   */
  readonly concurrency?: number | undefined;
  /** The outputs to return, as in {@link InferOptions} (default: all). */
  readonly outputs?: W | undefined;
  /** Ends the iteration with CANCELLED (default: none). */
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether results come in the order of the items (default true). If false, each result comes as soon as it is
   * available, with the index of its item.
   */
  readonly ordered?: boolean | undefined;
  /**
   * 'throw' (default) ends the iteration with the error of the first item that fails. 'yield' yields the error
   * with the index of its item, and continues. Errors of the iterable itself, and the signal, always end the
   * iteration.
   */
  readonly onError?: 'throw' | 'yield' | undefined;
  /** As in {@link InferOptions}, for each item. */
  readonly priority?: number | undefined;
  /** As in {@link InferOptions}, for each item. */
  readonly timeoutUs?: number | undefined;
  /** As in {@link InferOptions}, for each item, counted from when the item is first sent. */
  readonly timeoutMs?: number | undefined;
  /**
   * Whether each outcome has its `index` and its `item`, the inputs that the iterable gave (default false). The
   * inputs stay in memory until then.
   */
  readonly withItem?: boolean | undefined;
  /** As in {@link InferOptions}, for each item. */
  readonly parameters?: RequestParameters | undefined;
  /** As in {@link InferOptions}, for each item. */
  readonly parent?: ModelRequest | undefined;
  /**
   * The sequence whose requests the items are, in their order (default: none). `start` is for the first item that
   * is sent, and `end` for the last one. One item is in flight at a time, whatever `concurrency` is.
   */
  readonly sequence?: RequestSequence | undefined;
}

/**
 * The result of an item, from a {@link Model.map} that does not keep the order, yields errors, or returns
 * items.
 *
 * @example
 * for await (const { index, result } of model.map(items, { ordered: false })) save(index, result.outputs);
 */
export interface MapResult<R = InferResult> {
  /** Position of the item, from 0. */
  readonly index: number;
  /** The item, if `withItem` is true. */
  readonly item?: Inputs;
  /** The same result as from {@link Model.infer}. */
  readonly result: R;
  /** Always undefined; an item that failed is a {@link MapError}. */
  readonly error?: undefined;
}

/**
 * The error of an item, from a {@link Model.map} with `onError: 'yield'`.
 *
 * @example
 * for await (const { index, error } of model.map(items, { onError: 'yield' })) if (error) console.error(index, error);
 */
export interface MapError {
  /** Position of the item, from 0. */
  readonly index: number;
  /** The item, if `withItem` is true. */
  readonly item?: Inputs;
  /** Always undefined; an item that did not fail is a {@link MapResult}. */
  readonly result?: undefined;
  /** Why the item failed. If a getter of the item threw, `cause` is the thrown value. */
  readonly error: TritonError;
}

/** The outcome of an item, from a {@link Model.map} with `onError: 'yield'`. */
export type MapOutcome<R = InferResult> = MapResult<R> | MapError;
