/**
 * The public types of `tritonts/client`: the types of the library, with a promise for each answer that takes a
 * round trip.
 */

import type {
  InferenceServer,
  InferOptions,
  InferResult,
  Inputs,
  InputsOf,
  LoadModelOptions,
  MapOptions,
  MapOutcome,
  Model,
  ModelConfig,
  ModelMetadata,
  ModelName,
  ModelRegistry,
  ModelSignature,
  ModelStatistics,
  ModelStatus,
  OutputNames,
  RequestedOutputs,
  SequenceOptions,
  ServerMetadata,
  SignatureOf,
  SingleInputsOf,
  UnloadModelOptions,
  WantedOf,
} from '../index.js';
import type { RemoteInputs, RemoteInto, RemoteSharedMemory, SharedMemoryOutput } from './shared-memory.js';

/**
 * The result of a remote request: an {@link InferResult} without `timings`, which the protocol does not carry, and with what the
 * server has written to shared memory.
 */
export interface RemoteResult extends Omit<InferResult, 'timings'> {
  /** The outputs that went to shared memory, by name, which are not in `outputs`. Absent if none did. */
  readonly sharedMemory?: Readonly<Record<string, SharedMemoryOutput>> | undefined;
}

/**
 * Options of a remote request: the library's, without `parent`. `ownOutputs` has no effect, because remote
 * outputs always have their own memory.
 */
export interface RemoteInferOptions extends Omit<InferOptions, 'parent' | 'into'> {
  /**
   * Where outputs go, by name: into arrays, as in the library, or to shared memory.
   *
   * @example
   * const place = { sharedMemory: { region: 'answers', byteSize: 40 } };
   * const { sharedMemory } = await digits.infer({ image }, { into: { scores: place } });
   * sharedMemory?.scores?.shape; // [1, 10]; the bytes are in the region
   */
  readonly into?: RemoteInto | undefined;
}

/** Options of {@link RemoteModel.map}: the library's, without `parent`. The default `concurrency` is 64. */
export type RemoteMapOptions = Omit<MapOptions, 'parent'>;

/** Options of a request of a {@link RemoteSequence}: those of {@link RemoteModel.infer} without `sequence`. */
export type RemoteSequenceInferOptions = Omit<RemoteInferOptions, 'sequence'>;

/**
 * A sequence of a model in another process: a `Sequence` whose results have no timings. Each request is sent when
 * the one before it was answered, because connections do not keep the order of requests.
 *
 * @example
 * await using sequence = recogniser.sequence();
 */
export interface RemoteSequence extends AsyncDisposable {
  /** The correlation id. */
  readonly id: bigint | string;
  /** Whether no more requests are accepted; see `Sequence`. */
  readonly ended: boolean;
  /**
   * Runs the next request of the sequence; see `Sequence`. Calls need not be awaited.
   *
   * @throws {@link TritonError} As {@link RemoteModel.infer}, and as `Sequence` after the sequence has ended.
   *
   * @example
   * const { outputs } = await sequence.infer({ chunk });
   */
  infer(inputs: RemoteInputs, options?: RemoteSequenceInferOptions): Promise<RemoteResult>;
  /**
   * Ends the sequence without a request, and waits until the requests in flight have ended; see `Sequence`. It
   * never rejects.
   *
   * @example
   * await sequence.end();
   */
  end(): Promise<void>;
  /**
   * Runs the last request of the sequence, and ends it.
   *
   * @throws {@link TritonError} As {@link infer}.
   *
   * @example
   * const { outputs } = await sequence.end({ chunk: last });
   */
  end(inputs: RemoteInputs, options?: RemoteSequenceInferOptions): Promise<RemoteResult>;
  /**
   * Calls {@link end} without inputs, for `await using`.
   *
   * @example
   * await using sequence = recogniser.sequence();
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The outcomes that `map` yields with `ordered: false` or `onError: 'yield'`, as in the library. */
export type RemoteOutcome = MapOutcome<RemoteResult>;

/** Triton's statistics of a version, without the fields that tritonts adds in its own process. */
export type RemoteStatistics = Omit<ModelStatistics, 'fail_reasons' | 'refused' | 'reruns' | 'namespace'>;

/** Triton's metadata of a server. */
export type RemoteMetadata = Pick<ServerMetadata, 'name' | 'version' | 'extensions'>;

/**
 * A model in another process: a {@link Model} whose answers are promises. Code that awaits all results works
 * with both.
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
   * The complete configuration, frozen, as the server sends it.
   *
   * @throws {@link TritonError} NOT_FOUND or UNAVAILABLE if no version is ready.
   */
  readonly config: Promise<ModelConfig>;
  /**
   * Runs the model. Inputs are checked here against the model's configuration. They are copied before this
   * returns, unless the configuration must be fetched first.
   *
   * @param inputs - As for {@link Model.infer}, or {@link SharedMemoryInput}.
   * @param options - As for {@link Model.infer}.
   * @throws {@link TritonError} The same codes as {@link Model.infer}; also UNAVAILABLE if there is no
   *   connection, or if the answer is late.
   *
   * @example
   * const { outputs } = await digits.infer({ image }, { signal: AbortSignal.timeout(100) });
   */
  infer(inputs: RemoteInputs, options?: RemoteInferOptions): Promise<RemoteResult>;
  /**
   * Runs a decoupled model and yields its responses, over gRPC. HTTP has no typed stream, so there a decoupled
   * model is refused. Any other model yields its one result.
   *
   * @throws {@link TritonError} UNSUPPORTED for a decoupled model over HTTP, otherwise as {@link infer}. The
   *   iterator rejects with these errors.
   *
   * @example
   * for await (const { outputs } of digits.stream({ image })) console.log(outputs);
   */
  stream(inputs: RemoteInputs, options?: RemoteInferOptions): AsyncIterableIterator<RemoteResult>;
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
   * Begins a sequence; see {@link Model.sequence}. Its `id` must differ from those of the server's other clients. The
   * default is a number from 2^62 to 2^63 - 1 that begins at random.
   *
   * @throws {@link TritonError} INVALID_ARG for wrong options, UNSUPPORTED for an id of more than 128 bytes.
   *
   * @example
   * await using sequence = recogniser.sequence();
   */
  sequence(options?: SequenceOptions): RemoteSequence;
  /**
   * Counts and times of the model since it was loaded.
   *
   * @throws {@link TritonError} INVALID_ARG if the server does not serve the model, as in Triton.
   *
   * @example
   * const { inference_count } = await digits.statistics();
   */
  statistics(): Promise<RemoteStatistics>;
}

/**
 * Options of a request to a {@link TypedRemoteModel}: those of {@link RemoteModel.infer}, with names of the model's outputs.
 *
 * @example
 * const options: TypedRemoteOptions<'label' | 'scores', ['label']> = { outputs: ['label'] };
 */
export interface TypedRemoteOptions<N extends string, W extends RequestedOutputs<N> | undefined> extends Omit<
  InferOptions<N, W>,
  'parent' | 'outputs'
> {
  /** The outputs to return (default: all). */
  readonly outputs?: W | undefined;
}

/**
 * A {@link RemoteSequence} whose inputs and outputs are typed by name.
 *
 * @typeParam S - The signature.
 *
 * @example
 * await using sequence = recogniser.sequence(); // if the name is in ModelRegistry
 */
export interface TypedRemoteSequence<S extends ModelSignature> extends Omit<RemoteSequence, 'infer' | 'end'> {
  /**
   * Runs the next request of the sequence: {@link RemoteSequence.infer}.
   *
   * @throws {@link TritonError} As there.
   *
   * @example
   * const { outputs } = await sequence.infer({ chunk });
   */
  infer<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    inputs: SingleInputsOf<S>,
    options?: Omit<TypedRemoteOptions<OutputNames<S>, W>, 'sequence' | 'outputs'> & {
      readonly outputs?: W | undefined;
    },
  ): Promise<Omit<InferResult<WantedOf<S, W>>, 'timings'>>;
  /**
   * Ends the sequence without a request: {@link RemoteSequence.end}.
   *
   * @example
   * await sequence.end();
   */
  end(): Promise<void>;
  /**
   * Runs the last request of the sequence, and ends it.
   *
   * @throws {@link TritonError} As {@link infer}.
   *
   * @example
   * const { outputs } = await sequence.end({ chunk: last });
   */
  end<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    inputs: SingleInputsOf<S>,
    options?: Omit<TypedRemoteOptions<OutputNames<S>, W>, 'sequence' | 'outputs'> & {
      readonly outputs?: W | undefined;
    },
  ): Promise<Omit<InferResult<WantedOf<S, W>>, 'timings'>>;
}

/**
 * A {@link RemoteModel} with a known signature, which types its inputs and outputs by name. Places in shared memory are for
 * models without one. `npx tritonts types` writes the
 * signatures of a repository's models.
 *
 * @typeParam S - The signature.
 *
 * @example
 * const digits = await server.model('digits'); // a TypedRemoteModel, if 'digits' is in ModelRegistry
 * const { outputs } = await digits.infer({ image: new Float32Array(64) });
 * outputs.scores.data; // a Float32Array
 */
export interface TypedRemoteModel<S extends ModelSignature> extends Omit<
  RemoteModel,
  'infer' | 'stream' | 'map' | 'sequence'
> {
  /**
   * Runs the model: {@link RemoteModel.infer}.
   *
   * @throws {@link TritonError} As there.
   *
   * @example
   * const { outputs } = await digits.infer({ image });
   */
  infer<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    inputs: SingleInputsOf<S>,
    options?: TypedRemoteOptions<OutputNames<S>, W>,
  ): Promise<Omit<InferResult<WantedOf<S, W>>, 'timings'>>;
  /**
   * Runs a decoupled model and yields its responses: {@link RemoteModel.stream}.
   *
   * @throws {@link TritonError} As there.
   *
   * @example
   * for await (const { outputs } of writer.stream({ prompt: ['Once'] })) console.log(outputs.text.strings());
   */
  stream<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    inputs: InputsOf<S>,
    options?: TypedRemoteOptions<OutputNames<S>, W>,
  ): AsyncIterableIterator<Omit<InferResult<WantedOf<S, W>>, 'timings'>>;
  /**
   * Runs the model on every item of a data set: {@link RemoteModel.map}.
   *
   * @throws {@link TritonError} As there.
   *
   * @example
   * for await (const { outputs } of digits.map(items)) console.log(outputs.scores.toArray());
   */
  map<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    items: Iterable<SingleInputsOf<S>> | AsyncIterable<SingleInputsOf<S>>,
    options?: Omit<MapOptions<OutputNames<S>, W>, 'parent' | 'outputs'> & {
      readonly outputs?: W | undefined;
      readonly ordered?: true | undefined;
      readonly onError?: 'throw' | undefined;
      readonly withItem?: false | undefined;
    },
  ): AsyncIterableIterator<Omit<InferResult<WantedOf<S, W>>, 'timings'>>;
  /**
   * {@link map} that yields `{ index, result }` or `{ index, error }`.
   *
   * @example
   * for await (const { index, error } of digits.map(items, { onError: 'yield' })) if (error) console.error(index, error);
   */
  map<const W extends RequestedOutputs<OutputNames<S>> | undefined = undefined>(
    items: Iterable<SingleInputsOf<S>> | AsyncIterable<SingleInputsOf<S>>,
    options: Omit<MapOptions<OutputNames<S>, W>, 'parent' | 'outputs'> & {
      readonly outputs?: W | undefined;
    },
  ): AsyncIterableIterator<MapOutcome<Omit<InferResult<WantedOf<S, W>>, 'timings'>>>;
  /**
   * Begins a sequence: {@link RemoteModel.sequence}.
   *
   * @throws {@link TritonError} As there.
   *
   * @example
   * await using sequence = recogniser.sequence();
   */
  sequence(options?: SequenceOptions): TypedRemoteSequence<S>;
}

/**
 * A server in another process: an {@link InferenceServer} whose answers are promises. It lacks `handle`,
 * `explain`, `metric` and `metrics`, which exist only in the server's own process.
 *
 * @example
 * const server: RemoteServer = await connectServer('http://localhost:8000');
 */
export interface RemoteServer extends AsyncDisposable {
  /** Whether the server is ready; also false if it does not answer. */
  readonly ready: Promise<boolean>;
  /**
   * Returns a model's handle, which stays valid when the model is reloaded.
   *
   * @throws {@link TritonError} NOT_FOUND if the server does not know the name, INVALID_ARG for a wrong name or
   *   version.
   *
   * @example
   * const pinned = await server.model('digits', 2);
   */
  model<N extends keyof ModelRegistry>(
    name: N,
    version?: string | number,
  ): Promise<TypedRemoteModel<SignatureOf<N>>>;
  model(name: ModelName, version?: string | number): Promise<RemoteModel>;
  /**
   * Runs a model by its name.
   *
   * @throws {@link TritonError} As {@link RemoteModel.infer}.
   *
   * @example
   * const { outputs } = await server.infer('digits', { image });
   */
  infer<
    N extends keyof ModelRegistry,
    const W extends RequestedOutputs<OutputNames<SignatureOf<N>>> | undefined = undefined,
  >(
    name: N,
    inputs: SingleInputsOf<SignatureOf<N>>,
    options?: TypedRemoteOptions<OutputNames<SignatureOf<N>>, W> & {
      readonly version?: string | number | undefined;
    },
  ): Promise<Omit<InferResult<WantedOf<SignatureOf<N>, W>>, 'timings'>>;
  infer(
    name: ModelName,
    inputs: RemoteInputs,
    options?: RemoteInferOptions & { readonly version?: string | number | undefined },
  ): Promise<RemoteResult>;
  /**
   * Describes the server.
   *
   * @throws {@link TritonError} UNAVAILABLE if there is no connection.
   *
   * @example
   * const { name, version } = await server.metadata();
   */
  metadata(): Promise<RemoteMetadata>;
  /** Regions of shared memory that requests can name; see {@link RemoteSharedMemory}. */
  readonly sharedMemory: RemoteSharedMemory;
  /**
   * Lists the models of the server's repositories.
   *
   * @throws {@link TritonError} UNAVAILABLE if there is no connection, INVALID_ARG for wrong options.
   *
   * @example
   * for (const { name, state } of await server.index()) console.log(name, state);
   */
  index(options?: Parameters<InferenceServer['index']>[0]): Promise<ModelStatus[]>;
  /**
   * Loads a model, or reloads it.
   *
   * @throws {@link TritonError} UNAVAILABLE if the server does not allow model control; otherwise the code of
   *   the failure, as far as the protocol carries it; UNSUPPORTED for `module`.
   *
   * @example
   * await server.loadModel('digits', { config: { max_batch_size: 16 } });
   */
  loadModel(name: string, options?: LoadModelOptions): Promise<void>;
  /**
   * Unloads a model.
   *
   * @throws {@link TritonError} UNAVAILABLE if the server does not allow model control.
   *
   * @example
   * await server.unloadModel('digits');
   */
  unloadModel(name: string, options?: UnloadModelOptions): Promise<void>;
  /**
   * Returns statistics of all served versions, of one model's versions, or of one version.
   *
   * @throws {@link TritonError} INVALID_ARG if the server does not serve the model, as in Triton.
   *
   * @example
   * for (const { name, inference_count } of await server.statistics()) console.log(name, inference_count);
   */
  statistics(name?: string, version?: string | number): Promise<RemoteStatistics[]>;
  /**
   * Refuses new calls, waits for calls in progress up to a time limit, cancels the rest, and closes the
   * connections. The server itself keeps running. Idempotent.
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
