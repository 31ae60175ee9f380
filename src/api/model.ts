/**
 * The public interface of models. It is an interface so that a program's tests can put their own in its
 * place.
 */

import type { ModelConfig } from '../config/index.js';
import type { ModelMetadata, ModelStatistics, RuntimeInfo } from './metadata.js';
import type {
  InferOptions,
  InferResult,
  MapOptions,
  MapOutcome,
  MapResult,
  RequestedOutputs,
} from './results.js';
import type { InputsOf, ModelSignature, OutputNames, WantedOf } from '../tensor/signature.js';

/**
 * A {@link Model} with a known signature: its inputs and outputs are typed by name.
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
  /** The version it is pinned to; undefined if each request takes the newest ready one. */
  readonly version: string | undefined;
  /** Whether a request would be accepted now. Triton: `TRITONSERVER_ServerModelIsReady`. */
  readonly ready: boolean;
  /**
   * Whether a request would be accepted now, and the model itself says that it is ready: a Python model with
   * `is_ready()` is asked, and is not ready if it has not answered within 5 s or if one of its processes is
   * down. The endpoints ask it, too. With `attachServer` no model is asked, so that this is as `ready`.
   * Triton: `TRITONSERVER_ServerModelIsReady`.
   *
   * It does not reject.
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
   * What was filled in, and which fields of the configuration are hints without effect here. Triton has no
   * counterpart.
   *
   * @throws {@link TritonError} NOT_FOUND or UNAVAILABLE if no version is ready.
   */
  readonly notes: readonly string[];

  /**
   * Runs the model. Triton: `ModelInfer`.
   *
   * It never throws: errors reject the promise.
   *
   * @param inputs - The inputs by name; {@link TensorInput} lists what each may be. They are copied before
   *   this returns.
   * @param options - See {@link InferOptions}.
   * @returns The outputs.
   * @throws {@link TritonError} INVALID_ARG for inputs or options that do not fit, NOT_FOUND for an
   *   unloaded model, UNAVAILABLE for a failed model, a closed server or too much in flight, CANCELLED by
   *   `options.signal`, INTERNAL if the runtime failed, UNSUPPORTED for a model that only {@link stream} takes.
   *
   * @example
   * const { outputs } = await model.infer({ image: pixels });       // a Float32Array of one or several images
   * const scores = outputs.scores?.as('FP32').data;                 // a Float32Array
   */
  infer<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    inputs: InputsOf<S>,
    options?: InferOptions<OutputNames<S>, W>,
  ): Promise<InferResult<WantedOf<S, W>>>;

  /**
   * Runs a model whose requests get any number of responses, and yields these in the order in which the model
   * sent them. Such a model has `model_transaction_policy { decoupled: true }` in its configuration. Of any other
   * model it yields the one result. Triton: `ModelStreamInfer`.
   *
   * The request is sent at once, and its inputs are copied before this returns. It never throws: errors come
   * from the iterator, after the results that were sent before them. To leave the loop, or to call `return()`,
   * cancels the request. Results that were not read count as bytes in flight. When 16 MiB of a stream are unread,
   * a model that does not wait for its reader is ended with UNAVAILABLE.
   *
   * @param inputs - As for {@link infer}.
   * @param options - As for {@link infer}. `into` is refused.
   * @returns An iterator over the results. A program that does not read it calls its `return()`.
   * @throws {@link TritonError} INVALID_ARG for `options.into`, UNAVAILABLE if too much was left unread, otherwise
   *   as {@link infer}. The iterator rejects with them.
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
   * error ends it, unless errors are yielded. When its consumer stops, it cancels what is in flight.
   *
   * @param items - The inputs of each request. Whatever this iterable throws comes out unchanged.
   * @param options - See {@link MapOptions}.
   * @returns An iterator over the results, or outcomes.
   * @throws {@link TritonError} INVALID_ARG for options or items of the wrong kind, UNSUPPORTED for a model
   *   that only {@link stream} takes. The iterator rejects as
   *   {@link infer} does, and with CANCELLED by `options.signal`.
   *
   * @example
   * for await (const { outputs } of model.map(items)) console.log(outputs.scores?.toArray());
   */
  map<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    items: Iterable<InputsOf<S>> | AsyncIterable<InputsOf<S>>,
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
    items: Iterable<InputsOf<S>> | AsyncIterable<InputsOf<S>>,
    options: MapOptions<OutputNames<S>, W> & {
      readonly onError?: 'throw' | undefined;
      readonly withItem: true;
    },
  ): AsyncIterableIterator<MapResult<InferResult<WantedOf<S, W>>> & { readonly item: InputsOf<S> }>;
  /**
   * {@link map} that yields each result as soon as it is there.
   *
   * @example
   * for await (const { index, result } of model.map(items, { ordered: false })) save(index, result.outputs);
   */
  map<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    items: Iterable<InputsOf<S>> | AsyncIterable<InputsOf<S>>,
    options: MapOptions<OutputNames<S>, W> & {
      readonly ordered: false;
      readonly onError?: 'throw' | undefined;
    },
  ): AsyncIterableIterator<MapResult<InferResult<WantedOf<S, W>>>>;
  /**
   * {@link map} that yields errors like results.
   *
   * @example
   * for await (const { index, error } of model.map(items, { onError: 'yield' })) if (error) console.error(index, error);
   */
  map<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    items: Iterable<InputsOf<S>> | AsyncIterable<InputsOf<S>>,
    options: MapOptions<OutputNames<S>, W> & { readonly onError: 'yield' },
  ): AsyncIterableIterator<MapOutcome<InferResult<WantedOf<S, W>>>>;
  /**
   * {@link map} with options that are known only at run time.
   *
   * @example
   * const outcomes = model.map(items, options); // options: MapOptions
   */
  map<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    items: Iterable<InputsOf<S>> | AsyncIterable<InputsOf<S>>,
    options?: MapOptions<OutputNames<S>, W>,
  ): AsyncIterableIterator<InferResult<WantedOf<S, W>> | MapOutcome<InferResult<WantedOf<S, W>>>>;

  /**
   * How the model runs: library, instances, threads. Triton has no counterpart.
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
}

/**
 * A model by name, which stays valid when the model is reloaded. Each request takes the newest ready version
 * that the model's policy allows, or the version that the handle is pinned to. {@link InferenceServer.model}
 * returns one. Every {@link TypedModel} is a Model.
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
}
