/**
 * Implements the calls of KServe v2 over an InferenceServer, independent of the protocol. The HTTP and gRPC
 * endpoints only translate.
 */

import type { AwaitedModel } from '../../server/lazy/lazy-loads.js';
import type { IncomingHttpHeaders } from 'node:http';
import { printConfigJson, type ModelConfig } from '../../config/index.js';
import type { Waiter } from '../../dispatch/types.js';
import { TritonError, type TritonErrorCode, unavailable } from '../../errors.js';
import type { MetricSeries } from '../../metrics/custom.js';
import { extensionsOf } from '../../server/reports/extensions.js';
import { customMetricsOf } from '../../server/reports/server-metrics.js';
import { tritonStatistics, type TritonStatistics } from '../../server/reports/statistics.js';
import type { InferenceServer } from '../../server/inference-server.js';
import type { ModelMetadata, ModelStatus } from '../../api/metadata.js';
import { traced, type CheckedOptions } from '../../server/requests/infer-options.js';
import { traceStateOf, type TraceState } from '../../server/trace/trace-state.js';
import { traceOf, unknownModel } from '../../server/trace/server-trace.js';
import { ModelHandle } from '../../server/models/model-handle.js';
import type { InferResult, RequestedOutput } from '../../api/results.js';
import type { Inputs } from '../../tensor/inputs.js';
import type { RegionRange } from '../../tensor/region-tensor.js';
import type { Client } from './client.js';
import { ClientRegions } from './client-regions.js';
import { loadOptionsOf, type LoadRequest } from './load-request.js';
import { contextOf, FrontTrace } from './front-trace.js';
import { hostOf, type ServiceHost } from './host.js';
import type { LogChanges, LogSettings } from './log-settings.js';
import type { Parameters } from '../../protocol/parameters.js';
import {
  controlOf,
  traceReply,
  type TraceChanges,
  type TraceControl,
  type TraceReply,
} from './trace-settings.js';
import { namingModel } from './request-errors.js';
import { RegionJob } from './region-job.js';
import { Staging, usesGpus } from './staging.js';
import { readParameters } from './parameters.js';
import { loadFailure } from './replies.js';
import { Job, Submitter } from './submitter.js';

/** A request to infer, independent of the protocol. */
export interface ServiceRequest {
  readonly model: string;
  /** Undefined: the newest ready version. */
  readonly version: string | undefined;
  readonly id: string;
  readonly inputs: Inputs;
  readonly parameters: Parameters;
  /** Undefined: all outputs. */
  readonly outputs: readonly RequestedOutput[] | undefined;
  /** Where outputs go, by name, if some go to shared memory. They are listed in `outputs`, too. */
  readonly targets: ReadonlyMap<string, RegionRange> | undefined;
  /** The endpoint's part of the request's trace; undefined: requests are not traced. */
  readonly trace?: FrontTrace | undefined;
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
  readonly #traces: TraceState | undefined;
  readonly #submitter: Submitter = new Submitter();
  /** Shared memory, as clients see it. */
  readonly regions: ClientRegions;

  constructor(server: InferenceServer, { clientSharedMemory }: { readonly clientSharedMemory: boolean }) {
    this.#server = server;
    this.regions = new ClientRegions(server, clientSharedMemory);
    this.#host = hostOf(server);
    this.#traces = traceStateOf(server);
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

  /**
   * @throws {@link TritonError} NOT_FOUND for a model that no repository knows, UNAVAILABLE while the server ends.
   */
  modelReady(model: string, version: string | undefined): Promise<boolean> {
    return this.#handle(model, version).checkReady();
  }

  /** The server's metadata. `extensions` are the supported ones of Triton's list, in its order. */
  metadata(): ServiceMetadata {
    const { name, version } = this.#server.metadata();
    return {
      name,
      version,
      extensions: extensionsOf({
        control: this.#isControlled(),
        trace: this.#trace !== undefined,
        log: this.#host.log !== undefined,
      }),
    };
  }

  /**
   * Has a lazy model loaded, which the caller waits for before anything else about the model. Undefined: there is nothing to wait for.
   * The promise rejects with the reason why it cannot be loaded.
   *
   * @param bytes - The size of a request that waits; undefined: it has none that counts.
   */
  whenAwake(model: string, version: string | undefined, bytes?: number): AwaitedModel | undefined {
    try {
      return this.#handle(model, version).awake(bytes);
    } catch {
      return undefined; // The call itself tells what is wrong.
    }
  }

  /** @throws {@link TritonError} NOT_FOUND or UNAVAILABLE for a model or version that is not served. */
  modelMetadata(model: string, version: string | undefined): ModelMetadata {
    return this.#handle(model, version).metadata;
  }

  /** @throws {@link TritonError} As {@link modelMetadata}. */
  modelConfig(model: string, version: string | undefined): ModelConfig {
    return this.#handle(model, version).config;
  }

  /** Whether a model is decoupled. @throws {@link TritonError} As {@link modelMetadata}. */
  isDecoupled(model: string, version: string | undefined): boolean {
    return isDecoupled(this.#handle(model, version));
  }

  /** The template of a model's chats; undefined if it has none. @throws {@link TritonError} As {@link modelMetadata}. */
  chatTemplate(model: string): ModelHandle['chatTemplate'] {
    return this.#handle(model, undefined).chatTemplate;
  }

  /** {@link modelConfig} as JSON text with Triton's field names. */
  modelConfigJson(model: string, version: string | undefined): string {
    return printConfigJson(this.modelConfig(model, version), 0);
  }

  /** All series of a gauge or counter of the application or its models; empty if there is no such metric. */
  customMetric(name: string): MetricSeries {
    return customMetricsOf(this.#server)?.seriesOf(name) ?? [];
  }

  /** @throws {@link TritonError} UNAVAILABLE while the server ends. */
  index(ready: boolean): ModelStatus[] {
    // Triton's protocols have no place for the namespace.
    return this.#server.index({ ready }).map(({ namespace: _namespace, ...rest }) => rest);
  }

  /**
   * @throws {@link TritonError} INVALID_ARG, as in Triton, for an unknown model or version; UNAVAILABLE for a model
   *   that is not ready.
   */
  statistics(model: string | undefined, version: string | undefined): TritonStatistics {
    try {
      return tritonStatistics(this.#server.statistics(model, version));
    } catch (error) {
      throw recoded(error, 'NOT_FOUND', 'INVALID_ARG');
    }
  }

  /**
   * Loads a model.
   *
   * @throws {@link TritonError} UNAVAILABLE if clients may not load models, NOT_FOUND for a model that no
   *   repository has, INVALID_ARG, as in Triton, for a model that cannot be loaded.
   */
  async load(model: string, request: LoadRequest): Promise<void> {
    this.checkControl();
    const { control } = this.#host;
    try {
      if (control !== undefined) await control.load(model, request);
      else await this.#server.loadModel(model, loadOptionsOf(request));
    } catch (error) {
      this.#server.metadata(); // Throws the error of a server that was closed meanwhile.
      throw loadFailure(model, error);
    }
  }

  /**
   * Unloads a model. An unknown model is not an error.
   *
   * @throws {@link TritonError} UNAVAILABLE if clients may not unload models, INVALID_ARG for a model that an
   *   ensemble needs.
   */
  async unload(model: string, unloadDependents: boolean): Promise<void> {
    this.checkControl();
    const { control } = this.#host;
    if (control !== undefined) await control.unload(model, unloadDependents);
    else await this.#server.unloadModel(model, { unloadDependents });
  }

  /**
   * Changes settings of the log, and returns all settings.
   *
   * @throws {@link TritonError} UNSUPPORTED if the host provides no log control; UNAVAILABLE while the server ends.
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
   * Changes trace settings, and returns all settings.
   *
   * @param changes - Undefined: only read the settings.
   * @param model - Empty: those of all models without their own.
   * @throws {@link TritonError} As {@link Tracing.update}; UNSUPPORTED if nothing here has the settings.
   */
  async changeTrace(changes: TraceChanges | undefined, model: string): Promise<TraceReply> {
    this.#server.metadata();
    const trace = this.#trace;
    if (trace === undefined) {
      throw new TritonError(
        'UNSUPPORTED',
        'trace settings can be read and changed only at endpoints of the thread that made the server',
      );
    }
    if (model !== '' && !(await this.modelReady(model, undefined))) throw unknownModel(model);
    return traceReply(await trace.change(changes, model === '' ? undefined : model));
  }

  /**
   * Whether requests may be traced, so that {@link traceOf} is called for each.
   */
  get traces(): boolean {
    return this.#traces?.isOn === true;
  }

  /** What an endpoint knows of a request that may be traced. */
  traceOf(headers: IncomingHttpHeaders): FrontTrace {
    // Only spans have a parent outside of the server.
    return new FrontTrace(this.#traces?.spans === true ? contextOf(headers) : '');
  }

  /** What changes trace settings; undefined: nothing here does. */
  get #trace(): TraceControl | undefined {
    const own = traceOf(this.#server);
    return own === undefined ? this.#host.trace : controlOf(own);
  }

  /**
   * Runs a request. It is submitted to the engine together with the other requests of this turn of the event loop.
   *
   * @param client - The owner of the request. When the client ends, the request is cancelled.
   * @param waiter - Called once, with the result or the error, and never before this method has returned.
   * @throws {@link TritonError} For an invalid request; the waiter is then not called.
   */
  infer(request: ServiceRequest, client: Client, waiter: Waiter<InferResult>): void {
    const handle = this.#ordinary(request.model, request.version);
    const memory = this.regions.cuda;
    if (memory !== undefined && usesGpus(request)) {
      const checked = check(handle, request);
      const begin = (options: CheckedOptions): CheckedOptions => begun(handle, options, request.trace);
      this.#submitter.add(
        new RegionJob({ memory, client, handle, tensors: request, checked, begin, waiter }),
      );
      return;
    }
    const checked = begun(handle, check(handle, request), request.trace);
    this.#submitter.add(new Job(client, handle, request.inputs, checked, waiter));
  }

  /**
   * Checks whether {@link infer} accepts requests for this model.
   *
   * @throws {@link TritonError} The error that {@link infer} would throw for any request.
   */
  checkInferable(model: string, version: string | undefined): void {
    this.#ordinary(model, version);
  }

  /**
   * Runs a request with any number of responses. For an ordinary model there is one response.
   *
   * @returns The responses. Ending the iterator early cancels the request.
   * @throws {@link TritonError} For an invalid request. The iterator throws later errors.
   */
  stream(request: ServiceRequest): AsyncIterableIterator<InferResult> {
    const handle = this.#handle(request.model, request.version);
    const memory = this.regions.cuda;
    const staging = memory && usesGpus(request) ? Staging.of(memory, handle, request) : undefined;
    if (staging === undefined)
      return handle.openStream(request.inputs, begun(handle, check(handle, request), request.trace));
    try {
      const checked = check(handle, { ...request, targets: staging.targets });
      return staging.stream((inputs) => handle.openStream(inputs, begun(handle, checked, request.trace)));
    } catch (error) {
      staging.end();
      throw error;
    }
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

  /**
   * @throws {@link TritonError} NOT_FOUND for a model that no repository knows, UNAVAILABLE while the server ends.
   */
  #handle(model: string, version: string | undefined): ModelHandle {
    const handle = this.#server.model(model, version);
    if (handle instanceof ModelHandle) return handle;
    throw new TritonError('INTERNAL', `model '${model}': expected a server of this copy of the package`);
  }

  /**
   * Checks whether clients may load and unload models. As in Triton, the model control mode is checked before the
   * model.
   *
   * @throws {@link TritonError} UNAVAILABLE if they may not, and while the server ends.
   */
  checkControl(): void {
    if (this.#isControlled()) return;
    throw unavailable(
      'NOT_ALLOWED',
      "explicit model load / unload is not allowed if polling is enabled, or if models are loaded once: the server was not created with modelControlMode: 'explicit'",
    );
  }

  #isControlled(): boolean {
    const { extensions } = this.#server.metadata();
    return this.#host.control !== undefined || extensions.includes('model_repository');
  }
}

/** The options of a request that is about to be sent, and so gets its trace. */
function begun(handle: ModelHandle, checked: CheckedOptions, trace: FrontTrace | undefined): CheckedOptions {
  return trace === undefined ? checked : traced(checked, trace.begin(handle, checked.request.id));
}

function isDecoupled(handle: ModelHandle): boolean {
  return handle.config.model_transaction_policy?.decoupled === true;
}

function check(
  handle: ModelHandle,
  { id, outputs, parameters, targets }: ServiceRequest,
): ReturnType<ModelHandle['check']> {
  try {
    const checked = handle.check({ id, outputs, ...readParameters(parameters) });
    return targets === undefined ? checked : { ...checked, targets };
  } catch (error) {
    throw namingModel(error, handle.name);
  }
}

function recoded(error: unknown, from: TritonErrorCode, to: TritonErrorCode): unknown {
  if (!(error instanceof TritonError) || error.code !== from) return error;
  return new TritonError(to, error.message, { cause: error, model: error.model });
}
