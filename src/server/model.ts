/** A model as callers see it: an interface, so that a program's tests can put their own in its place. */

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
import type { InputsOf, ModelSignature, OutputNames, WantedOf } from './signature.js';

/**
 * A {@link Model} whose signature is known: inputs and outputs are typed by name.
 *
 * @typeParam S - What it takes and gives.
 *
 * @example
 * const digits = server.model('digits'); // a TypedModel, where 'digits' is in ModelRegistry
 * const { outputs } = await digits.infer({ image: new Float32Array(64) });
 * outputs.scores.data; // a Float32Array
 */
export interface TypedModel<S extends ModelSignature> {
  /** The model's name. */
  readonly name: string;
  /** The version it is pinned to; undefined: the newest ready one, chosen for each request. */
  readonly version: string | undefined;
  /** Whether a request would be taken now. Triton: `TRITONSERVER_ServerModelIsReady`. */
  readonly ready: boolean;
  /**
   * Names, datatypes and shapes of inputs and outputs. Triton: model metadata.
   *
   * @throws {TritonError} NOT_FOUND or UNAVAILABLE when no version is ready.
   */
  readonly metadata: ModelMetadata;
  /**
   * The complete configuration, with Triton's field names; frozen.
   *
   * @throws {TritonError} NOT_FOUND or UNAVAILABLE when no version is ready.
   */
  readonly config: ModelConfig;
  /**
   * Which fields of the config are hints without effect here, and what was filled in.
   *
   * @throws {TritonError} NOT_FOUND or UNAVAILABLE when no version is ready.
   */
  readonly notes: readonly string[];

  /**
   * Runs the model.
   *
   * @param inputs - By name; see {@link TensorInput} for what each may be. Copied before this returns.
   * @returns The outputs. Rejects (it never throws) with a {@link TritonError}: INVALID_ARG for inputs that do not fit,
   *   NOT_FOUND for an unloaded model, UNAVAILABLE for a failed model, a closed server or too much in flight, CANCELLED,
   *   INTERNAL when the runtime failed.
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
   * Runs the model on every item of a data set, several at a time, and yields the results, in order unless
   * `ordered: false`. With that, or with `onError: 'yield'`, it yields `{ index, result }` or `{ index, error }`.
   *
   * It reads no further ahead than `concurrency` items, waits while the server has too much in flight, stops at the
   * first error unless these are yielded, and cancels what is in flight when its consumer stops.
   *
   * @throws {TritonError} INVALID_ARG for options or items of the wrong kind; the iterator rejects as {@link infer} does,
   *   with CANCELLED by `options.signal`, and with what the items' iterable throws, unchanged.
   *
   * @example
   * for await (const { outputs } of model.map(items)) console.log(outputs.scores?.toArray());
   */
  map<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    items: Iterable<InputsOf<S>> | AsyncIterable<InputsOf<S>>,
    options?: MapOptions<OutputNames<S>, W> & {
      readonly ordered?: true | undefined;
      readonly onError?: 'throw' | undefined;
    },
  ): AsyncIterableIterator<InferResult<WantedOf<S, W>>>;
  /** {@link map}, as soon as each result is there. */
  map<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    items: Iterable<InputsOf<S>> | AsyncIterable<InputsOf<S>>,
    options: MapOptions<OutputNames<S>, W> & {
      readonly ordered: false;
      readonly onError?: 'throw' | undefined;
    },
  ): AsyncIterableIterator<MapResult<InferResult<WantedOf<S, W>>>>;
  /** {@link map}, whose errors are yielded like results. */
  map<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    items: Iterable<InputsOf<S>> | AsyncIterable<InputsOf<S>>,
    options: MapOptions<OutputNames<S>, W> & { readonly onError: 'yield' },
  ): AsyncIterableIterator<MapOutcome<InferResult<WantedOf<S, W>>>>;
  /** {@link map}, with options that are known at run time only. */
  map<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    items: Iterable<InputsOf<S>> | AsyncIterable<InputsOf<S>>,
    options?: MapOptions<OutputNames<S>, W>,
  ): AsyncIterableIterator<InferResult<WantedOf<S, W>> | MapOutcome<InferResult<WantedOf<S, W>>>>;

  /**
   * How the model is run: library, instances, threads.
   *
   * @throws {TritonError} NOT_FOUND or UNAVAILABLE when no version is ready.
   */
  runtimeInfo(): RuntimeInfo;

  /**
   * What the model did so far. Triton: `TRITONSERVER_ServerModelStatistics`.
   *
   * @throws {TritonError} NOT_FOUND or UNAVAILABLE when no version is ready.
   */
  statistics(): ModelStatistics;
}

/**
 * A model by name, not a loaded thing: each request takes the newest ready version that the model's policy allows, or
 * the version it is pinned to; it survives reloads. Get one from {@link InferenceServer.model}. Every
 * {@link TypedModel} is one.
 *
 * @example
 * const model = server.model('digits');
 * const { outputs } = await model.infer({ image: new Float32Array(64) });
 */
export interface Model extends TypedModel<ModelSignature> {
  // With a member of its own it is compared with a TypedModel member by member. TypedModels are compared by their
  // signatures alone, and so none of them would be this one.
  /** The model's name. */
  readonly name: string;
}
