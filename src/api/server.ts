/** The server, as a model sees it. */

import type { Inputs } from '../tensor/inputs.js';
import type {
  InputsOf,
  ModelName,
  ModelRegistry,
  OutputNames,
  SignatureOf,
  SingleInputsOf,
  WantedOf,
} from '../tensor/signature.js';
import type { LoadModelOptions, LoadOutcome, UnloadModelOptions } from './load-options.js';
import type { ModelStatistics, ModelStatus, ServerMetadata } from './metadata.js';
import type { Metric, MetricOptions } from './metric.js';
import type { Model, TypedModel } from './model.js';
import type { InferOptions, InferResult, RequestedOutputs } from './results.js';

/**
 * Which model of a name is meant, and which version of it.
 *
 * @example
 * server.model('digits', { namespace: './tenant-a', version: 2 });
 */
export interface ModelChoice {
  /** The version (default: each request takes the newest ready one). */
  readonly version?: string | number | undefined;
  /**
   * The repository whose model it is, as the text that was given (default: the only one that has the name). Without
   * `modelNamespacing` there is only the namespace ''.
   */
  readonly namespace?: string | undefined;
}

/**
 * The part of the server that a model can use (`context.server`): other models, loads and unloads, metrics. An
 * {@link InferenceServer} has all these methods and documents them. A model cannot close its server, so there
 * is no `close()`.
 *
 * @example
 * initialize({ server }: { readonly server: ModelServer }) {
 *   this.tokenizer = server.model('tokenizer');
 * }
 */
export interface ModelServer {
  /** Whether every model that should be served is ready. */
  readonly ready: boolean;
  /** Returns a model's handle by its name: {@link InferenceServer.model}. */
  model<N extends keyof ModelRegistry>(
    name: N,
    which?: string | number | ModelChoice,
  ): TypedModel<SignatureOf<N>>;
  model(name: ModelName, which?: string | number | ModelChoice): Model;
  /** Runs a model: {@link InferenceServer.infer}. */
  infer<
    N extends keyof ModelRegistry,
    const W extends RequestedOutputs<OutputNames<SignatureOf<N>>> | undefined = undefined,
  >(
    name: N,
    inputs: SingleInputsOf<SignatureOf<N>>,
    options?: InferOptions<OutputNames<SignatureOf<N>>, W> & ModelChoice,
  ): Promise<InferResult<WantedOf<SignatureOf<N>, W>>>;
  infer(name: ModelName, inputs: Inputs, options?: InferOptions & ModelChoice): Promise<InferResult>;
  /** Runs a decoupled model: {@link InferenceServer.stream}. */
  stream<
    N extends keyof ModelRegistry,
    const W extends RequestedOutputs<OutputNames<SignatureOf<N>>> | undefined = undefined,
  >(
    name: N,
    inputs: InputsOf<SignatureOf<N>>,
    options?: InferOptions<OutputNames<SignatureOf<N>>, W> & ModelChoice,
  ): AsyncIterableIterator<InferResult<WantedOf<SignatureOf<N>, W>>>;
  stream(
    name: ModelName,
    inputs: Inputs,
    options?: InferOptions & ModelChoice,
  ): AsyncIterableIterator<InferResult>;
  /** Describes the server: {@link InferenceServer.metadata}. */
  metadata(): ServerMetadata;
  /** Lists the models with their states: {@link InferenceServer.index}. */
  index(options?: { readonly ready?: boolean | undefined }): ModelStatus[];
  /** Loads a model: {@link InferenceServer.loadModel}. Models on threads cannot call it. */
  loadModel(name: string, options?: LoadModelOptions): Promise<LoadOutcome>;
  /** Unloads a model: {@link InferenceServer.unloadModel}. Models on threads cannot call it. */
  unloadModel(name: string, options?: UnloadModelOptions): Promise<void>;
  /** Returns statistics of models: {@link InferenceServer.statistics}. */
  statistics(name?: string, which?: string | number | ModelChoice): ModelStatistics[];
  /** Defines a metric of the application: {@link InferenceServer.metric}. */
  metric(options: MetricOptions): Metric;
}
