/**
 * What the calls of KServe v2 do, whatever protocol they come by: each is written once here, over an InferenceServer. HTTP
 * and gRPC translate.
 */

import { printConfigJson, type ModelConfig } from '../../config/index.js';
import type { Waiter } from '../../dispatch/types.js';
import { TritonError, type TritonErrorCode, unavailable } from '../../errors.js';
import type { MetricSeries } from '../../metrics/custom.js';
import { customMetricsOf } from '../../server/reports/server-metrics.js';
import type { InferenceServer } from '../../server/inference-server.js';
import type { ModelMetadata, ModelStatus } from '../../api/metadata.js';
import { ModelHandle } from '../../server/models/model-handle.js';
import type { InferResult, RequestedOutput } from '../../api/results.js';
import type { Inputs } from '../../tensor/inputs.js';
import type { Client } from './client.js';
import { loadOptionsOf, type LoadRequest } from './load-request.js';
import { hostOf, type ServiceHost } from './host.js';
import type { LogChanges, LogSettings } from './log-settings.js';
import type { Parameters } from '../../protocol/parameters.js';
import { readParameters } from './parameters.js';
import { loadFailure, tritonStatistics, type ServiceStatistics } from './replies.js';
import { Job, Submitter } from './submitter.js';

/** A request as a protocol carries it. */
export interface ServiceRequest {
  readonly model: string;
  /** Undefined: the newest ready one. */
  readonly version: string | undefined;
  readonly id: string;
  readonly inputs: Inputs;
  readonly parameters: Parameters;
  /** Undefined: all. */
  readonly outputs: readonly RequestedOutput[] | undefined;
}

/** Reply of `GET /v2`, `ServerMetadata`. */
export interface ServiceMetadata {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
}

/** See the head of this file. */
export class InferenceService {
  readonly #server: InferenceServer;
  readonly #host: ServiceHost;
  readonly #submitter: Submitter = new Submitter();

  constructor(server: InferenceServer) {
    this.#server = server;
    this.#host = hostOf(server);
  }

  /** @throws {@link TritonError} UNAVAILABLE while the server ends. */
  live(): boolean {
    this.#server.metadata();
    return true;
  }

  /** @throws {@link TritonError} UNAVAILABLE while the server ends. */
  ready(): boolean {
    this.#server.metadata();
    return this.#server.ready;
  }

  /** @throws {@link TritonError} NOT_FOUND for a model that no repository knows, UNAVAILABLE while the server ends. */
  modelReady(model: string, version: string | undefined): Promise<boolean> {
    return this.#handle(model, version).checkReady();
  }

  /** The extensions are those of Triton's list, in its order, that this server has. */
  metadata(): ServiceMetadata {
    const { name, version } = this.#server.metadata();
    const controlled = this.#isControlled();
    return {
      name,
      version,
      extensions: [
        'classification',
        ...(controlled ? ['model_repository', 'model_repository(unload_dependents)'] : []),
        'schedule_policy',
        'model_configuration',
        'binary_tensor_data',
        'parameters',
        'statistics',
        ...(this.#host.log === undefined ? [] : ['logging']),
      ],
    };
  }

  /** @throws {@link TritonError} NOT_FOUND or UNAVAILABLE for a model or version that is not served. */
  modelMetadata(model: string, version: string | undefined): ModelMetadata {
    return this.#handle(model, version).metadata;
  }

  /** @throws {@link TritonError} As {@link modelMetadata}. */
  modelConfig(model: string, version: string | undefined): ModelConfig {
    return this.#handle(model, version).config;
  }

  /** Whether requests of a model get any number of responses. @throws {@link TritonError} As {@link modelMetadata}. */
  isDecoupled(model: string, version: string | undefined): boolean {
    return isDecoupled(this.#handle(model, version));
  }

  /** {@link modelConfig} as JSON text with Triton's field names. */
  modelConfigJson(model: string, version: string | undefined): string {
    return printConfigJson(this.modelConfig(model, version), 0);
  }

  /** All series of a gauge or counter that the application or its models keep; none where there is no such metric. */
  customMetric(name: string): MetricSeries {
    return customMetricsOf(this.#server)?.seriesOf(name) ?? [];
  }

  /** @throws {@link TritonError} UNAVAILABLE while the server ends. */
  index(ready: boolean): ModelStatus[] {
    return this.#server.index({ ready });
  }

  /**
   * @throws {@link TritonError} INVALID_ARG for a model or version that nobody knows, as in Triton; UNAVAILABLE for one that
   *   is not ready.
   */
  statistics(model: string | undefined, version: string | undefined): ServiceStatistics {
    try {
      return tritonStatistics(this.#server.statistics(model, version));
    } catch (error) {
      throw recoded(error, 'NOT_FOUND', 'INVALID_ARG');
    }
  }

  /**
   * Loads a model.
   *
   * @throws {@link TritonError} UNAVAILABLE where models are not controlled from outside, NOT_FOUND for a model that no
   *   repository has, INVALID_ARG for one that cannot be loaded, as in Triton.
   */
  async load(model: string, request: LoadRequest): Promise<void> {
    this.checkControl();
    const { control } = this.#host;
    try {
      if (control !== undefined) await control.load(model, request);
      else await this.#server.loadModel(model, loadOptionsOf(request));
    } catch (error) {
      this.#server.metadata(); // A server that has been closed meanwhile says that.
      throw loadFailure(model, error);
    }
  }

  /**
   * Unloads a model; one that nobody knows is no error.
   *
   * @throws {@link TritonError} UNAVAILABLE where models are not controlled from outside, INVALID_ARG for a model that an
   *   ensemble needs.
   */
  async unload(model: string, unloadDependents: boolean): Promise<void> {
    this.checkControl();
    const { control } = this.#host;
    if (control !== undefined) await control.unload(model, unloadDependents);
    else await this.#server.unloadModel(model, { unloadDependents });
  }

  /**
   * Changes settings of the log, and returns all.
   *
   * @throws {@link TritonError} UNSUPPORTED where the log is the program's own; UNAVAILABLE while the server ends.
   */
  async changeLog(changes: LogChanges): Promise<LogSettings> {
    this.#server.metadata();
    const { log } = this.#host;
    if (log !== undefined) return log.change(changes);
    throw new TritonError(
      'UNSUPPORTED',
      'log settings cannot be read or changed over the network; the program that made the server has them',
    );
  }

  /**
   * Runs a request. It goes to the engine with the others of this turn of the event loop.
   *
   * @param client - Whose request it is: when that ends, the request is cancelled.
   * @param waiter - Called once, with the result or what went wrong, and never before this has returned.
   * @throws {@link TritonError} For a request that makes no sense; the waiter is not called then.
   */
  infer(request: ServiceRequest, client: Client, waiter: Waiter<InferResult>): void {
    const handle = this.#ordinary(request.model, request.version);
    this.#submitter.add(new Job(client, handle, request.inputs, check(handle, request), waiter));
  }

  /**
   * Checks whether {@link infer} is for this model.
   *
   * @throws {@link TritonError} As that, for whatever is in a request.
   */
  checkInferable(model: string, version: string | undefined): void {
    this.#ordinary(model, version);
  }

  /**
   * Runs a request with any number of responses; one of an ordinary model has one.
   *
   * @returns The responses. Whoever leaves them early cancels the request.
   * @throws {@link TritonError} For a request that makes no sense. What comes later is thrown by the iterator.
   */
  stream(request: ServiceRequest): AsyncIterableIterator<InferResult> {
    const handle = this.#handle(request.model, request.version);
    return handle.openStream(request.inputs, check(handle, request));
  }

  #ordinary(model: string, version: string | undefined): ModelHandle {
    const handle = this.#handle(model, version);
    if (!isDecoupled(handle)) return handle;
    throw new TritonError(
      'UNSUPPORTED',
      `this call doesn't support models with decoupled transaction policy, as model '${model}' has`,
      { model },
    );
  }

  /** @throws {@link TritonError} NOT_FOUND for a model that no repository knows, UNAVAILABLE while the server ends. */
  #handle(model: string, version: string | undefined): ModelHandle {
    const handle = this.#server.model(model, version);
    if (handle instanceof ModelHandle) return handle;
    throw new TritonError('INTERNAL', `model '${model}': expected a server of this copy of the package`);
  }

  /**
   * Checks whether models are loaded and unloaded from outside. In Triton, too, it is the mode that decides, before the model
   * is looked at.
   *
   * @throws {@link TritonError} UNAVAILABLE if they are not, and while the server ends.
   */
  checkControl(): void {
    if (this.#isControlled()) return;
    throw unavailable(
      'NOT_ALLOWED',
      "explicit model load / unload is not allowed: the server was not created with modelControlMode: 'explicit'",
    );
  }

  #isControlled(): boolean {
    const { extensions } = this.#server.metadata();
    return this.#host.control !== undefined || extensions.includes('model_repository');
  }
}

function isDecoupled(handle: ModelHandle): boolean {
  return handle.config.model_transaction_policy?.decoupled === true;
}

function check(
  handle: ModelHandle,
  { id, outputs, parameters }: ServiceRequest,
): ReturnType<ModelHandle['check']> {
  return handle.check({ id, outputs, ...readParameters(parameters) });
}

function recoded(error: unknown, from: TritonErrorCode, to: TritonErrorCode): unknown {
  if (!(error instanceof TritonError) || error.code !== from) return error;
  return new TritonError(to, error.message, { cause: error, model: error.model });
}
