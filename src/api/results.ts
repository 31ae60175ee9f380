/** The options of requests, and their results. */

import type { Timings } from './timings.js';
import type { TritonError } from '../errors.js';
import type { ModelRequest } from './model-request.js';
import type { Inputs } from '../tensor/inputs.js';
import type { AnyTensor } from '../tensor/tensor.js';
import type { TypedArray } from '../tensor/types.js';

/** Values that a request or a response may carry besides tensors. Triton: `parameters`. */
export type RequestParameters = Readonly<Record<string, string | number | bigint | boolean>>;

/**
 * The result of a request. `JSON.stringify` writes all of it; see {@link TensorJSON} for the tensors.
 *
 * @typeParam O - Its outputs, by name if the model is in {@link ModelRegistry}.
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
  /** The request's id; empty if it had none. Triton: `id`. */
  readonly id: string;
  /** The outputs by name. The object has no inherited properties. Triton: `outputs`. */
  readonly outputs: O;
  /** Values that the backend returned besides outputs; empty if it returned none. Triton: `parameters`. */
  readonly parameters: RequestParameters;
  /** The times of the batch that the request ran in. */
  readonly timings: Timings;
}

/**
 * An output that a request wants.
 *
 * @typeParam N - Names that the model's outputs have.
 *
 * @example
 * await model.infer({ image }, { outputs: [{ name: 'scores', classification: 3 }] });
 */
export interface RequestedOutput<N extends string = string> {
  /** Name of the output. */
  readonly name: N;
  /**
   * How many of the best classes of each item to return instead of the values (default 0: the values). The
   * output is then a BYTES tensor of `value:index`, or `value:index:label` for a model with labels. Of an output with
   * more than 1,048,576 elements, or for more than 65,536 classes of all items, it is INVALID_ARG. Triton: `classification`.
   */
  readonly classification?: number | undefined;
}

/** The outputs that a request wants: each by its name, or as a {@link RequestedOutput}. */
export type RequestedOutputs<N extends string = string> = readonly (N | RequestedOutput<N>)[];

/**
 * Options of a request.
 *
 * @typeParam N - Names that the model's outputs have.
 * @typeParam W - The type of `outputs`, which determines what the result has.
 *
 * @example
 * await model.infer({ image }, { id: 'a1', outputs: ['label'], signal: AbortSignal.timeout(1000) });
 */
export interface InferOptions<
  N extends string = string,
  W extends RequestedOutputs<N> | undefined = RequestedOutputs<N> | undefined,
> {
  /** A text that comes back with the result, and appears in messages (default: empty). Triton: `id`. */
  readonly id?: string | undefined;
  /** The outputs to return (default: all). Triton: `outputs`. */
  readonly outputs?: W | undefined;
  /**
   * Cancels the request (default: nothing does): it rejects at once with CANCELLED. If it was running, its
   * batch goes on without its rows.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether large outputs come in memory that V8 allocated, at the cost of a copy (default false). Such
   * outputs can be transferred to another thread; on Node ≥ 22 external ones cannot. Large outputs have 64
   * KiB or more, or come after 128 KiB of other outputs in the same response.
   */
  readonly ownOutputs?: boolean | undefined;
  /**
   * Arrays for outputs, by name (default: none). When the response comes, the output is written to its array,
   * which becomes its `data`. The array must have the class that `data` would have, and as many elements as
   * the output. It may lie in a SharedArrayBuffer. Until then it is not touched. If it was transferred or
   * resized meanwhile, the request rejects with INVALID_ARG. BYTES outputs cannot be written this way.
   *
   * @example
   * const scores = new Float32Array(10);
   * await model.infer({ image }, { into: { scores } }); // no memory is allocated for them
   */
  readonly into?: { readonly [K in N]?: TypedArray | undefined } | undefined;
  /**
   * Level in the queue of a model with `priority_levels`, 1 being served first; without it, with 0 and beyond the levels,
   * the model's `default_priority_level`. Other models do not look at it. Triton: `priority`.
   */
  readonly priority?: number | undefined;
  /**
   * How long it may wait in the queue, in microseconds, where the model's queue policy says `allow_timeout_override` and
   * has no shorter time of its own: after that it rejects with UNAVAILABLE, or (DELAY) goes behind others. Once it runs it
   * is not interrupted. Other models do not look at it. For a limit that holds anywhere use {@link timeoutMs}.
   * Triton: `timeout`.
   */
  readonly timeoutUs?: number | undefined;
  /**
   * How long to wait for the answer, in milliseconds (default 0: no limit), whatever the model's queue policy says. Then
   * it rejects with UNAVAILABLE and `reason` TIMED_OUT, at most 1 ms or 2 % late. As with {@link signal}, one that waits
   * leaves its queue, and of one that runs the rows are dropped. For `stream` the time is that of all responses.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Only for JavaScript models (default: none): the request, as `execute` got it, that the call is made for. When that
   * is cancelled, so is the call. A call that could be answered only after a request that waits for it rejects at once
   * with UNAVAILABLE and the models in its message, and one within 32 others with INVALID_ARG. Triton: BLS.
   *
   * @example
   * const { outputs } = await server.infer('encoder', { ids }, { parent: request });
   */
  readonly parent?: ModelRequest | undefined;
  /** What the model is told besides. Integers may have 64 bits. Triton: request parameters. */
  readonly parameters?: RequestParameters | undefined;
}

/**
 * Options of {@link Model.map}.
 *
 * @typeParam N - Names that the model's outputs have.
 * @typeParam W - The type of `outputs`, which determines what each result has.
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
   * How many requests are in flight at once, and how many items are read ahead (default: two batches of every
   * instance).
   */
  readonly concurrency?: number | undefined;
  /** The outputs to return, as in {@link InferOptions} (default: all). */
  readonly outputs?: W | undefined;
  /** Ends the iteration with CANCELLED (default: nothing does). */
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether results come in the order of the items (default true). With false, each comes as soon as it is
   * there, with the index of its item.
   */
  readonly ordered?: boolean | undefined;
  /**
   * 'throw' (default) ends the iteration with the error of the first item that fails. 'yield' yields the
   * error with the index of its item, and goes on. Errors of the iterable itself, and the signal, always end
   * the iteration.
   */
  readonly onError?: 'throw' | 'yield' | undefined;
  /** As in {@link InferOptions}, of every item. */
  readonly priority?: number | undefined;
  /** As in {@link InferOptions}, of every item. */
  readonly timeoutUs?: number | undefined;
  /** As in {@link InferOptions}, of every item, from the moment that it is first sent. */
  readonly timeoutMs?: number | undefined;
  /**
   * Whether each outcome has its `index` and its `item`, the inputs that the source gave (default false). The inputs are
   * kept until then.
   */
  readonly withItem?: boolean | undefined;
  /** As in {@link InferOptions}, of every item. */
  readonly parameters?: RequestParameters | undefined;
  /** As in {@link InferOptions}, of every item. */
  readonly parent?: ModelRequest | undefined;
}

/**
 * The result of an item, from a {@link Model.map} that does not keep the order, yields errors, or gives items.
 *
 * @example
 * for await (const { index, result } of model.map(items, { ordered: false })) save(index, result.outputs);
 */
export interface MapResult<R = InferResult> {
  /** Position of the item, from 0. */
  readonly index: number;
  /** The item, with `withItem: true`. */
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
  /** The item, with `withItem: true`. */
  readonly item?: Inputs;
  /** Always undefined; an item that did not fail is a {@link MapResult}. */
  readonly result?: undefined;
  /** Why the item failed. If a getter of the item threw, its `cause` is what was thrown. */
  readonly error: TritonError;
}

/** The outcome of an item, from a {@link Model.map} with `onError: 'yield'`. */
export type MapOutcome<R = InferResult> = MapResult<R> | MapError;
