/**
 * The public interface of models. It is an interface so that a program's tests can replace models with their
 * own objects.
 */

import type { ModelConfig } from '../config/index.js';
import type { Explanation } from './explanation.js';
import type { ModelMetadata, ModelStatistics, RuntimeInfo } from './metadata.js';
import type {
  InferOptions,
  InferResult,
  MapOptions,
  MapOutcome,
  MapResult,
  RequestedOutputs,
} from './results.js';
import type { Sequence, SequenceOptions, TypedSequence } from './sequence.js';
import type { InputsOf, ModelSignature, OutputNames, SingleInputsOf, WantedOf } from '../tensor/signature.js';

/**
 * A {@link Model} with a known signature, which types its inputs and outputs by name.
 *
 * @typeParam S - The signature.
 *
 * @example
 * const digits = server.model('digits'); // a TypedModel, if 'digits' is in ModelRegistry
 * const { outputs } = await digits.infer({ image: new Float32Array(64) });
 * outputs.scores.data; // a Float32Array
 */
export interface TypedModel<S extends ModelSignature> {
  /** The model's name. */
  readonly name: string;
  /** The version that this handle is pinned to; undefined if each request goes to the newest ready version. */
  readonly version: string | undefined;
  /** Whether a request would be accepted now. Triton: `TRITONSERVER_ServerModelIsReady`. */
  readonly ready: boolean;
  /**
   * Whether a request would be accepted now, and the model itself reports that it is ready. A Python model with
   * `is_ready()` is asked. It is not ready if it does not answer within 5 s, or if one of its processes is
   * down. The HTTP and gRPC endpoints use this check, too. With `attachServer` no model is asked, so the result
   * equals `ready`. Triton: `TRITONSERVER_ServerModelIsReady`.
   *
   * The promise never rejects.
   *
   * @example
   * if (!(await server.model('digits').checkReady())) console.error('the model is not ready');
   */
  checkReady(): Promise<boolean>;
  /**
   * Names, datatypes and shapes of inputs and outputs. Triton: `TRITONSERVER_ServerModelMetadata`.
   *
   * @throws {@link TritonError} NOT_FOUND or UNAVAILABLE if no version is ready.
   */
  readonly metadata: ModelMetadata;
  /**
   * The complete configuration, frozen, with Triton's field names. Triton: `TRITONSERVER_ServerModelConfig`.
   *
   * @throws {@link TritonError} NOT_FOUND or UNAVAILABLE if no version is ready.
   */
  readonly config: ModelConfig;
  /**
   * The configuration's fields that the server filled in, and the fields that are hints without effect here.
   * Triton has no counterpart.
   *
   * @throws {@link TritonError} NOT_FOUND or UNAVAILABLE if no version is ready.
   */
  readonly notes: readonly string[];

  /**
   * Runs the model. Triton: `ModelInfer`.
   *
   * It never throws; an error rejects the promise.
   *
   * @param inputs - The inputs by name; {@link TensorInput} lists the forms of each. They are copied before
   *   this returns.
   * @param options - See {@link InferOptions}.
   * @returns The outputs.
   * @throws {@link TritonError} INVALID_ARG for inputs or options that do not fit, NOT_FOUND for a model that
   *   is not loaded, UNAVAILABLE for a failed model, a closed server or too much in flight, CANCELLED by
   *   `options.signal`, INTERNAL if the runtime failed, UNSUPPORTED for a model that only {@link stream} can
   *   run.
   *
   * @example
   * const { outputs } = await model.infer({ image: pixels });       // a Float32Array of one or several images
   * const scores = outputs.scores?.as('FP32').data;                 // a Float32Array
   */
  infer<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    inputs: SingleInputsOf<S>,
    options?: InferOptions<OutputNames<S>, W>,
  ): Promise<InferResult<WantedOf<S, W>>>;

  /**
   * Runs a decoupled model, whose requests get any number of responses, and yields the responses in the order
   * in which the model sent them. The configuration of such a model has
   * `model_transaction_policy { decoupled: true }`. For any other model it yields the one result. Triton:
   * `ModelStreamInfer`.
   *
   * The request is sent at once, and its inputs are copied before this returns. It never throws: errors come
   * from the iterator, after the results that were sent before them. Leaving the loop, or calling `return()`,
   * cancels the request. Unread results count as bytes in flight. If a model does not wait for its reader, its
   * request ends with UNAVAILABLE when 16 MiB of the stream are unread.
   *
   * @param inputs - As for {@link infer}.
   * @param options - As for {@link infer}. `into` is refused.
   * @returns An iterator over the results. A program that will not read it must call its `return()`.
   * @throws {@link TritonError} INVALID_ARG for `options.into`, UNAVAILABLE if too much was left unread,
   *   otherwise as {@link infer}. The iterator rejects with these errors.
   *
   * @example
   * for await (const { outputs } of model.stream({ prompt: ['Once upon a time'] })) console.log(outputs);
   */
  stream<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    inputs: InputsOf<S>,
    options?: InferOptions<OutputNames<S>, W>,
  ): AsyncIterableIterator<InferResult<WantedOf<S, W>>>;

  /**
   * Runs the model on every item of a data set, several at a time, and yields the results in the order of the
   * items. With `ordered: false` or `onError: 'yield'` it yields `{ index, result }` or `{ index, error }`
   * instead. Triton has no counterpart.
   *
   * It reads at most `concurrency` items ahead, and waits while the server has too much in flight. The first
   * error ends the iteration, unless errors are yielded. When the consumer stops, the requests in flight are
   * cancelled.
   *
   * @param items - The inputs of each request. An error that this iterable throws is passed on unchanged.
   * @param options - See {@link MapOptions}.
   * @returns An iterator over the results or outcomes.
   * @throws {@link TritonError} INVALID_ARG for options or items of the wrong kind, UNSUPPORTED for a model
   *   that only {@link stream} can run. The iterator rejects as {@link infer} does, and with CANCELLED by
   *   `options.signal`.
   *
   * @example
   * for await (const { outputs } of model.map(items)) console.log(outputs.scores?.toArray());
   */
  map<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    items: Iterable<SingleInputsOf<S>> | AsyncIterable<SingleInputsOf<S>>,
    options?: MapOptions<OutputNames<S>, W> & {
      readonly ordered?: true | undefined;
      readonly onError?: 'throw' | undefined;
      readonly withItem?: false | undefined;
    },
  ): AsyncIterableIterator<InferResult<WantedOf<S, W>>>;
  /**
   * {@link map} that yields each result with its item.
   *
   * @example
   * for await (const { item, result } of model.map(items, { withItem: true })) save(item, result.outputs);
   */
  map<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    items: Iterable<SingleInputsOf<S>> | AsyncIterable<SingleInputsOf<S>>,
    options: MapOptions<OutputNames<S>, W> & {
      readonly onError?: 'throw' | undefined;
      readonly withItem: true;
    },
  ): AsyncIterableIterator<MapResult<InferResult<WantedOf<S, W>>> & { readonly item: InputsOf<S> }>;
  /**
   * {@link map} that yields each result as soon as it arrives.
   *
   * @example
   * for await (const { index, result } of model.map(items, { ordered: false })) save(index, result.outputs);
   */
  map<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    items: Iterable<SingleInputsOf<S>> | AsyncIterable<SingleInputsOf<S>>,
    options: MapOptions<OutputNames<S>, W> & {
      readonly ordered: false;
      readonly onError?: 'throw' | undefined;
    },
  ): AsyncIterableIterator<MapResult<InferResult<WantedOf<S, W>>>>;
  /**
   * {@link map} that yields errors as it yields results.
   *
   * @example
   * for await (const { index, error } of model.map(items, { onError: 'yield' })) if (error) console.error(index, error);
   */
  map<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    items: Iterable<SingleInputsOf<S>> | AsyncIterable<SingleInputsOf<S>>,
    options: MapOptions<OutputNames<S>, W> & { readonly onError: 'yield' },
  ): AsyncIterableIterator<MapOutcome<InferResult<WantedOf<S, W>>>>;
  /**
   * {@link map} with options that are known only at run time.
   *
   * @example
   * const outcomes = model.map(items, options); // options: MapOptions
   */
  map<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    items: Iterable<SingleInputsOf<S>> | AsyncIterable<SingleInputsOf<S>>,
    options?: MapOptions<OutputNames<S>, W>,
  ): AsyncIterableIterator<InferResult<WantedOf<S, W>> | MapOutcome<InferResult<WantedOf<S, W>>>>;

  /**
   * Begins a sequence: requests that a model with `sequence_batching` runs in their order, and whose state it
   * keeps. Nothing is sent before the first request. Other models only receive the id and the flags. Triton:
   * `sequence_id`, `sequence_start`, `sequence_end`.
   *
   * @param options - See {@link SequenceOptions}.
   * @throws {@link TritonError} INVALID_ARG for wrong options, UNSUPPORTED for an id of more than 128 bytes.
   *
   * @example
   * await using sequence = model.sequence();
   * for (const chunk of chunks) await sequence.infer({ chunk });
   * const { outputs } = await sequence.end({ chunk: last });
   */
  sequence(options?: SequenceOptions): TypedSequence<S>;

  /**
   * How the model runs: library, instances and threads. Triton has no counterpart.
   *
   * @throws {@link TritonError} NOT_FOUND or UNAVAILABLE if no version is ready.
   *
   * @example
   * console.log(model.runtimeInfo().instances.length);
   */
  runtimeInfo(): RuntimeInfo;

  /**
   * Counts and times of the model since it was loaded. Triton: `ModelStatistics`.
   *
   * @throws {@link TritonError} NOT_FOUND or UNAVAILABLE if no version is ready.
   *
   * @example
   * const { inference_count, execution_count } = model.statistics();
   */
  statistics(): ModelStatistics;

  /**
   * How the last batches of the model came about, and what limits its throughput: `server.explain`. Triton has no
   * counterpart.
   *
   * @throws {@link TritonError} NOT_FOUND or UNAVAILABLE if no version is ready, UNSUPPORTED for an ensemble.
   *
   * @example
   * console.log(model.explain().summary);
   */
  explain(): Explanation;
}

/**
 * A handle of a model by its name. It stays valid when the model is reloaded. Each request goes to the newest
 * ready version that the model's version policy allows, or to the version that the handle is pinned to.
 * {@link InferenceServer.model} returns it. Every {@link TypedModel} is a Model.
 *
 * @example
 * const model = server.model('digits');
 * const { outputs } = await model.infer({ image: new Float32Array(64) });
 */
export interface Model extends TypedModel<ModelSignature> {
  // This member makes TypeScript compare a TypedModel with this interface member by member. Without it
  // TypeScript would compare their signatures alone, and no TypedModel would be a Model.
  /** The model's name. */
  readonly name: string;
  /** Begins a sequence: {@link TypedModel.sequence}. */
  sequence(options?: SequenceOptions): Sequence;
}
