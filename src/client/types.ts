/** The public types of `tritonts/client`: those of the library, with promises where an answer takes a round trip. */

import type {
  InferenceServer,
  InferOptions,
  InferResult,
  Inputs,
  LoadModelOptions,
  MapOptions,
  MapOutcome,
  Model,
  ModelConfig,
  ModelMetadata,
  ModelStatistics,
  ModelStatus,
  ServerMetadata,
  UnloadModelOptions,
} from '../index.js';

/** The result of a remote request: an {@link InferResult} without `timings`, which the protocol does not carry. */
export type RemoteResult = Omit<InferResult, 'timings'>;

/**
 * Options of a remote request: those of the library but `parent`. `ownOutputs` changes nothing, as outputs are always in
 * memory of their own.
 */
export type RemoteInferOptions = Omit<InferOptions, 'parent'>;

/** Options of {@link RemoteModel.map}: those of the library but `parent`. `concurrency` is 64 by default. */
export type RemoteMapOptions = Omit<MapOptions, 'parent'>;

/** What `map` yields with `ordered: false` or `onError: 'yield'`: the outcomes of the library. */
export type RemoteOutcome = MapOutcome<RemoteResult>;

/** Triton's statistics of a version, without what tritonts adds in its own process. */
export type RemoteStatistics = Omit<ModelStatistics, 'fail_reasons' | 'refused' | 'reruns'>;

/** Triton's metadata of a server. */
export type RemoteMetadata = Pick<ServerMetadata, 'name' | 'version' | 'extensions'>;

/**
 * A model of another process: a {@link Model} whose answers are promises. Code that awaits everything works with both.
 *
 * @example
 * const digits = await server.model('digits');
 * const { outputs } = await digits.infer({ image: new Float32Array(64) });
 */
export interface RemoteModel extends Pick<Model, 'name' | 'version'> {
  /** Whether a request would be accepted now. */
  readonly ready: Promise<boolean>;
  /**
   * Names, datatypes and shapes of inputs and outputs.
   *
   * @throws {@link TritonError} NOT_FOUND or UNAVAILABLE if no version is ready.
   */
  readonly metadata: Promise<ModelMetadata>;
  /**
   * The complete configuration, frozen, as the server writes it.
   *
   * @throws {@link TritonError} NOT_FOUND or UNAVAILABLE if no version is ready.
   */
  readonly config: Promise<ModelConfig>;
  /**
   * Runs the model. Inputs are checked here, by the model's configuration, and copied before this returns, unless the
   * configuration has to be asked for first.
   *
   * @param inputs - As for {@link Model.infer}.
   * @param options - As for {@link Model.infer}.
   * @throws {@link TritonError} The same codes as {@link Model.infer}; UNAVAILABLE without a connection or in time.
   *
   * @example
   * const { outputs } = await digits.infer({ image }, { signal: AbortSignal.timeout(100) });
   */
  infer(inputs: Inputs, options?: RemoteInferOptions): Promise<RemoteResult>;
  /**
   * Yields the one result of an ordinary model. HTTP has no typed stream: a decoupled model is refused.
   *
   * @throws {@link TritonError} UNSUPPORTED for a decoupled model, otherwise as {@link infer}. The iterator rejects with them.
   *
   * @example
   * for await (const { outputs } of digits.stream({ image })) console.log(outputs);
   */
  stream(inputs: Inputs, options?: RemoteInferOptions): AsyncIterableIterator<RemoteResult>;
  /**
   * Runs the model on every item of a data set, several at a time; see {@link Model.map}.
   *
   * @throws {@link TritonError} INVALID_ARG for wrong options; the iterator rejects as {@link infer} does.
   *
   * @example
   * for await (const { outputs } of digits.map(items)) console.log(outputs.scores?.toArray());
   */
  map(
    items: Iterable<Inputs> | AsyncIterable<Inputs>,
    options?: RemoteMapOptions & {
      readonly ordered?: true | undefined;
      readonly onError?: 'throw' | undefined;
      readonly withItem?: false | undefined;
    },
  ): AsyncIterableIterator<RemoteResult>;
  /**
   * {@link map} that yields `{ index, result }` or `{ index, error }`.
   *
   * @example
   * for await (const { index, error } of digits.map(items, { onError: 'yield' })) if (error) console.error(index, error);
   */
  map(
    items: Iterable<Inputs> | AsyncIterable<Inputs>,
    options: RemoteMapOptions,
  ): AsyncIterableIterator<RemoteOutcome>;
  /**
   * Counts and times of the model since it was loaded.
   *
   * @throws {@link TritonError} INVALID_ARG for a model that the server does not serve, as at Triton.
   *
   * @example
   * const { inference_count } = await digits.statistics();
   */
  statistics(): Promise<RemoteStatistics>;
}

/**
 * A server in another process: an {@link InferenceServer} whose answers are promises. What only the own process has is not
 * there: `handle`, `explain`, `metric` and `metrics`.
 *
 * @example
 * const server: RemoteServer = await connectServer('http://localhost:8000');
 */
export interface RemoteServer extends AsyncDisposable {
  /** Whether the server is ready; false, too, where it does not answer. */
  readonly ready: Promise<boolean>;
  /**
   * A model's handle; it stays valid when the model is reloaded.
   *
   * @throws {@link TritonError} NOT_FOUND if the server does not know the name, INVALID_ARG for a wrong name or version.
   *
   * @example
   * const pinned = await server.model('digits', 2);
   */
  model(name: string, version?: string | number): Promise<RemoteModel>;
  /**
   * Runs a model by its name.
   *
   * @throws {@link TritonError} As {@link RemoteModel.infer}.
   *
   * @example
   * const { outputs } = await server.infer('digits', { image });
   */
  infer(
    name: string,
    inputs: Inputs,
    options?: RemoteInferOptions & { readonly version?: string | number | undefined },
  ): Promise<RemoteResult>;
  /**
   * Describes the server.
   *
   * @throws {@link TritonError} UNAVAILABLE without a connection.
   *
   * @example
   * const { name, version } = await server.metadata();
   */
  metadata(): Promise<RemoteMetadata>;
  /**
   * Lists the models of the server's repositories.
   *
   * @throws {@link TritonError} UNAVAILABLE without a connection, INVALID_ARG for wrong options.
   *
   * @example
   * for (const { name, state } of await server.index()) console.log(name, state);
   */
  index(options?: Parameters<InferenceServer['index']>[0]): Promise<ModelStatus[]>;
  /**
   * Loads a model, or loads it again.
   *
   * @throws {@link TritonError} UNAVAILABLE unless the server lets models be controlled, otherwise the reason's code, as far
   *   as HTTP carries it; UNSUPPORTED for `module`.
   *
   * @example
   * await server.loadModel('digits', { config: { max_batch_size: 16 } });
   */
  loadModel(name: string, options?: LoadModelOptions): Promise<void>;
  /**
   * Unloads a model.
   *
   * @throws {@link TritonError} UNAVAILABLE unless the server lets models be controlled.
   *
   * @example
   * await server.unloadModel('digits');
   */
  unloadModel(name: string, options?: UnloadModelOptions): Promise<void>;
  /**
   * Statistics of all served versions, of one model's, or of one version.
   *
   * @throws {@link TritonError} INVALID_ARG for a model that the server does not serve, as at Triton.
   *
   * @example
   * for (const { name, inference_count } of await server.statistics()) console.log(name, inference_count);
   */
  statistics(name?: string, version?: string | number): Promise<RemoteStatistics[]>;
  /**
   * Refuses new calls, lets those under way end within a time limit, cancels the rest, and ends the connections. The
   * server goes on. Idempotent.
   *
   * @param options - The time limit (default 30 s).
   * @throws {@link TritonError} INVALID_ARG for wrong options.
   *
   * @example
   * await server.close();
   */
  close(options?: { readonly timeoutMs?: number | undefined }): Promise<void>;
  /**
   * Calls {@link close}, for `await using`.
   *
   * @example
   * await using server = await connectServer('http://localhost:8000');
   */
  [Symbol.asyncDispose](): Promise<void>;
}
