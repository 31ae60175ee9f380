/** The class of servers: their models, and the end of their life. */

import { functionsOf } from '../addon/engine-functions.js';
import type { NativeServer } from '../addon/native/server.js';
import { checkObject } from '../argument-checks.js';
import type { ServerCache } from '../cache/server-cache.js';
import type { EngineConnection } from '../dispatch/engine-connection.js';
import { invalidArgument, TritonError, unavailable } from '../errors.js';
import type { ServerOptions } from '../options.js';
import type { Metric, MetricOptions } from '../api/metric.js';
import type { LoadModelOptions, LoadOutcome, RegisterRepositoryOptions } from '../api/load-options.js';
import type { Registry } from '../registry/registry.js';
import type { Repositories } from '../registry/repositories.js';
import type { RescanResult } from '../api/rescan.js';
import type { ModelChoice, ModelServer } from '../api/server.js';
import type { Inputs } from '../tensor/inputs.js';
import { packageVersion } from '../version.js';
import { closeConnection, closeServer } from './closing.js';
import { forgetServer, watchServer } from './models/dropped.js';
import type { Explanation } from '../api/explanation.js';
import { Explainer } from './reports/explainer.js';
import type { ModelStatistics, ModelStatus, ServerMetadata } from '../api/metadata.js';
import type { Model, TypedModel } from '../api/model.js';
import { ServerRegions, type SharedMemory } from './memory/shared-memory.js';
import { ServerTrace, type Tracing } from './trace/server-trace.js';
import { TraceState } from './trace/trace-state.js';
import { ModelHandles } from './models/model-handles.js';
import { LazyLoads } from './lazy/lazy-loads.js';
import { answerWakes, ChannelWaker } from './lazy/wake-channel.js';
import { ModelTable } from './models/model-table.js';
import { indexOf, isReady } from './reports/repository-index.js';
import type { InferOptions, InferResult, RequestedOutputs } from '../api/results.js';
import type {
  InputsOf,
  ModelName,
  ModelRegistry,
  OutputNames,
  SignatureOf,
  SingleInputsOf,
  WantedOf,
} from '../tensor/signature.js';
import {
  checkCloseOptions,
  checkIndexOptions,
  checkModelName,
  checkNamespace,
  checkOptionalName,
  checkUnloadOptions,
  checkVersion,
  readModelChoice,
  type CloseOptions,
} from './creation/server-arguments.js';
import type { UnloadModelOptions } from '../api/load-options.js';
import { ownHandle, type ServerHandle, type SharedOptions } from '../server-handle.js';
import type { ServerParts } from './server-parts.js';
import { ServerMetrics } from './reports/server-metrics.js';
import { serverStatistics } from './reports/statistics.js';
import { failedStream } from './requests/stream-iterator.js';

/**
 * The type of {@link createServer}.
 *
 * @example
 * const create: CreateServer = InferenceServer.create;
 */
export interface CreateServer {
  (
    source: string | URL | readonly (string | URL)[],
    options?: Omit<ServerOptions, 'modelRepository'>,
  ): Promise<InferenceServer>;
  (options: ServerOptions): Promise<InferenceServer>;
}

/** Creates a server from its parts. Nothing else calls the constructor. */
export let newServer: (parts: ServerParts) => InferenceServer;

/** It is not exported, so `new InferenceServer()` in a program cannot pass it. */
const constructing = Symbol('constructing');

/**
 * An inference server inside this process. A server exists only when it is up: {@link createServer} creates
 * one, and {@link attachServer} connects a worker of the same process to one.
 *
 * An idle server does not keep the process alive; a request in flight does.
 *
 * @example
 * await using server: InferenceServer = await createServer('./models');
 * const { outputs } = await server.model('digits').infer({ image: new Float32Array(64) });
 */
export class InferenceServer implements ModelServer, AsyncDisposable {
  /** The same function as {@link createServer}. */
  declare static readonly create: CreateServer;

  static {
    newServer = (parts: ServerParts): InferenceServer => new InferenceServer(constructing, parts);
  }

  #handle: ServerHandle | undefined;
  readonly #shared: SharedOptions;
  readonly #devices: () => readonly string[];
  readonly #metrics: ServerMetrics;
  readonly #native: NativeServer;
  readonly #connection: EngineConnection;
  readonly #table: ModelTable;
  /** Undefined on an attached server, which cannot load and unload. */
  readonly #registry: Registry | undefined;
  readonly #cache: ServerCache | undefined;
  readonly #explicit: boolean;
  readonly #handles: ModelHandles;
  readonly #regions: ServerRegions;
  /** Undefined on an attached server, which cannot change the settings. */
  readonly #trace: ServerTrace | undefined;
  #closing: Promise<void> | undefined;
  /** Ends the answers to other environments that ask for lazy models. */
  #endWakes: (() => void) | undefined;

  private constructor(key: symbol, parts: ServerParts) {
    // JavaScript programs can call a private constructor.
    if (key !== constructing) {
      throw invalidArgument(
        'InferenceServer has no public constructor: use await createServer(modelRepository)',
      );
    }
    const { native, connection, registry, cache, explicit, repositories, devices, caller } = parts;
    const { captureStacks, name, strictReadiness, metrics, trace, tracing, lazyChannel } = parts;
    this.#native = native;
    this.#connection = connection;
    const state = new TraceState(this, trace);
    const lazy = lazyLoads(parts);
    this.#table = new ModelTable(native, connection, state, lazy, caller);
    this.#handles = new ModelHandles(
      native,
      this.#table,
      new Explainer(native, this.#table, registry, cache),
    );
    this.#registry = registry;
    this.#cache = cache;
    // The first request of a model that was warmed up is not to read what was published of it.
    const table = new WeakRef(this.#table);
    if (registry) {
      registry.onLazy = (): void => {
        this.#endWakes = answerWakes(lazyChannel, new WeakRef(registry));
      };
      registry.onWarmed = (model): void => {
        table.deref()?.entry(model);
      };
    }
    this.#explicit = explicit;
    this.#shared = { captureStacks, name, strictReadiness, metrics, trace, lazyChannel };
    this.#devices = devices;
    this.#regions = new ServerRegions(this, native, connection);
    const handles = this.#handles;
    this.#trace =
      tracing && new ServerTrace(this, tracing, native, state, (model) => handles.of(model, undefined).ready);
    this.#metrics = new ServerMetrics(
      this,
      native,
      this.#table,
      metrics,
      devices,
      () => registry?.lazyFigures,
    );
    watchServer(this.#table, { native, connection, repositories, cache });
  }

  /**
   * Identifies this server for {@link attachServer}. It can be sent to a worker_thread. Once it was asked
   * for, the server has to be closed by the program: it may be in use elsewhere, so dropping it here does not
   * close it.
   *
   * @example
   * new Worker('./worker.js', { workerData: { handle: server.handle } });
   */
  get handle(): ServerHandle {
    // Attached connections end on their own.
    if (this.#registry) forgetServer(this.#connection);
    this.#handle ??= Object.freeze({
      ...ownHandle(this.#native, this.#shared),
      devices: Object.freeze([...this.#devices()]),
    });
    return this.#handle;
  }

  /**
   * Whether every model that should be served is ready; with `strictReadiness: false`, whether the server is up.
   * Triton: `TRITONSERVER_ServerIsReady`.
   *
   * @example
   * response.statusCode = server.ready ? 200 : 503;
   */
  get ready(): boolean {
    if (this.#closing || this.#connection.closed) return false;
    return !this.#shared.strictReadiness || isReady(this.#table);
  }

  /**
   * Returns a model's handle. It stays valid when the model is reloaded.
   *
   * @param name - The model's name.
   * @param which - The version to pin it to (default: each request takes the newest ready version); or an object with it, and
   *   with the namespace of a model that several repositories have: see {@link ModelChoice}.
   * @returns The model. Its inputs and outputs are typed by name if it is in {@link ModelRegistry}.
   * @throws {@link TritonError} NOT_FOUND if no repository knows the name, or the namespace has none of it, UNAVAILABLE after
   *   `close()`, INVALID_ARG for a name, version or namespace of the wrong type, and without a namespace for a name that
   *   several have.
   *
   * @example
   * const model = server.model('digits');
   * const pinned = server.model('digits', 2);
   * const own = server.model('digits', { namespace: './tenant-a' });
   */
  model<N extends keyof ModelRegistry>(
    name: N,
    which?: string | number | ModelChoice,
  ): TypedModel<SignatureOf<N>>;
  model(name: ModelName, which?: string | number | ModelChoice): Model;
  model(name: string, which?: string | number | ModelChoice): Model {
    if (typeof which !== 'object') return this.#handles.of(name, which);
    const { version, namespace } = readModelChoice(which);
    return this.#handles.of(name, version, namespace);
  }

  /**
   * Runs a model: `server.model(name, { version, namespace }).infer(inputs, options)`. Where that call would throw,
   * this one rejects.
   *
   * @param name - The model's name.
   * @param inputs - As for {@link Model.infer}.
   * @param options - As for {@link Model.infer}, and which model of the name is meant: see {@link ModelChoice}.
   * @returns The same as {@link Model.infer}.
   * @throws {@link TritonError} NOT_FOUND if no repository knows the name, otherwise as {@link
   *   Model.infer}.
   *
   * @example
   * const { outputs } = await server.infer('digits', { image: new Float32Array(64) });
   */
  infer<
    N extends keyof ModelRegistry,
    const W extends RequestedOutputs<OutputNames<SignatureOf<N>>> | undefined = undefined,
  >(
    name: N,
    inputs: SingleInputsOf<SignatureOf<N>>,
    options?: InferOptions<OutputNames<SignatureOf<N>>, W> & ModelChoice,
  ): Promise<InferResult<WantedOf<SignatureOf<N>, W>>>;
  infer(name: ModelName, inputs: Inputs, options?: InferOptions & ModelChoice): Promise<InferResult>;
  async infer(
    name: string,
    inputs: Inputs,
    options?: (InferOptions & ModelChoice) | null,
  ): Promise<InferResult> {
    const given = options ?? {};
    checkObject(given, 'infer options');
    const { version, namespace, ...rest } = given;
    return this.#handles
      .of(name, version, checkNamespace(namespace, 'infer options'))
      .inferFor(serverInfer, inputs, rest);
  }

  /**
   * Runs a model with any number of responses: `server.model(name, { version, namespace }).stream(inputs, options)`.
   * Where `server.model` would throw, the iterator rejects.
   *
   * @param name - The model's name.
   * @param inputs - As for {@link Model.infer}.
   * @param options - As for {@link Model.stream}, and which model of the name is meant: see {@link ModelChoice}.
   * @returns The same as {@link Model.stream}.
   * @throws {@link TritonError} NOT_FOUND if no repository knows the name, otherwise as {@link
   *   Model.stream}.
   *
   * @example
   * for await (const { outputs } of server.stream('writer', { prompt: ['Once'] })) console.log(outputs);
   */
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
  stream(
    name: string,
    inputs: Inputs,
    options?: (InferOptions & ModelChoice) | null,
  ): AsyncIterableIterator<InferResult> {
    try {
      const given = options ?? {};
      checkObject(given, 'infer options');
      const { version, namespace, ...rest } = given;
      const handle = this.#handles.of(name, version, checkNamespace(namespace, 'infer options'));
      return handle.streamFor(serverStream, inputs, rest);
    } catch (error) {
      return failedStream(error);
    }
  }

  /**
   * Describes this server. Triton: `TRITONSERVER_ServerMetadata`.
   *
   * @throws {@link TritonError} UNAVAILABLE after `close()`.
   *
   * @example
   * const { version, backends, devices } = server.metadata();
   */
  metadata(): ServerMetadata {
    this.#table.checkOpen();
    return {
      name: this.#shared.name,
      version: packageVersion,
      extensions: this.#explicit
        ? ['model_repository', 'model_configuration', 'statistics']
        : ['model_configuration', 'statistics'],
      backends: functionsOf(this.#native).backends(),
      devices: [...this.#devices()],
    };
  }

  /**
   * Lists all models of the repositories, with the state and reason of each version. Triton:
   * `RepositoryIndex`.
   *
   * @param options - With `ready: true`, only ready versions are listed (default false).
   * @throws {@link TritonError} UNAVAILABLE after `close()`, INVALID_ARG for wrong options.
   *
   * @example
   * for (const { name, state, reason } of server.index()) console.log(name, state, reason);
   */
  index(options: { readonly ready?: boolean | undefined } = {}): ModelStatus[] {
    this.#table.checkOpen();
    const onlyReady = checkIndexOptions(options);
    const list = indexOf(this.#table);
    return onlyReady ? list.filter(({ state }) => state === 'READY') : list;
  }

  /**
   * Loads a model, or loads it again if its files have changed: their content, times, or what links lead to. Requests are served meanwhile. If the load
   * fails, the old versions go on serving. A lazy model can be loaded before its first request, in each mode and without
   * options. Triton: `TRITONSERVER_ServerLoadModel`.
   *
   * @param name - The model's name.
   * @param options - A configuration, or files, to use instead of the repository's. The model is then
   *   always loaded again, as it is with `force: true`.
   * @returns Whether anything was loaded.
   * @throws {@link TritonError} UNAVAILABLE unless `modelControlMode` is 'explicit', UNSUPPORTED on an
   *   attached server, NOT_FOUND if no repository has the model, INVALID_ARG for wrong options, UNAVAILABLE if a
   *   model asks for it that it would wait for, CANCELLED if an unload or `close()` gives it up; otherwise the
   *   code of the reason why it cannot be loaded. It also rejects, when the load has ended, with whatever
   *   `onProgress` threw.
   *
   * @example
   * await server.loadModel('digits', { config: { max_batch_size: 16 } });
   */
  async loadModel(name: string, options: LoadModelOptions = {}): Promise<LoadOutcome> {
    // Nothing may be waited for before the registry has read the options, and has taken note of the order of the calls.
    const lazy = this.#loadLazy(name, options);
    if (lazy !== undefined) return await lazy;
    const registry = this.#control('loaded');
    checkModelName(name);
    return { changed: await registry.load(name, options) };
  }

  /**
   * Unloads a model. Resolves when its requests have ended and its memory is free; at once, if one of these asks
   * for it. As in Triton, it succeeds for a model that is not loaded, and for a name that no model has. A load of the model that
   * is under way is waited for, and given up after `workers.unloadTimeoutMs`. Triton: `TRITONSERVER_ServerUnloadModel`.
   *
   * @param name - The model's name.
   * @param options - See {@link UnloadModelOptions}.
   * @throws {@link TritonError} INVALID_ARG for wrong options and for a model that an ensemble needs,
   *   UNAVAILABLE unless `modelControlMode` is 'explicit', and if a load asks for it that it would wait for,
   *   UNSUPPORTED on an attached server.
   *
   * @example
   * await server.unloadModel('digits');
   */
  async unloadModel(name: string, options: UnloadModelOptions = {}): Promise<void> {
    const { unloadDependents, parent } = checkUnloadOptions(options);
    await this.#control('unloaded').unload(name, unloadDependents, parent);
  }

  /**
   * Polls the repositories once: loads what was added or changed, and unloads what was removed. In mode 'poll' the
   * server does the same at the end of each period. In mode 'explicit' only models that were loaded from a repository
   * are reloaded and unloaded; new ones become known.
   *
   * A change of a version's folder alone concerns only this version, any other change the whole model. Files with other
   * times and the same content are no change. A model is left alone until two polls in a row have seen the same files,
   * so after a change the second call loads it, and unloads what was removed. If a load fails, what was served is served as before; each call tries
   * it again, and the polls of a period do after pauses that get longer, and at once when the files change. A repository that cannot be listed changes nothing.
   *
   * A call during a poll has another one follow it, or begin after 10 s, which all calls meanwhile share. It waits for the loads
   * that its own poll begins: a load that never ends holds up this call until the server closes. It waits 10 s for a repository
   * or a model's folder that does not answer: those are left alone. Triton: `TRITONSERVER_ServerPollModelRepository`.
   *
   * @returns What has changed. Requests that unloaded models have accepted may still run.
   * @throws {@link TritonError} UNSUPPORTED on an attached server, UNAVAILABLE after `close()` (`CLOSED`) and if a model
   *   calls it whose load the poll waits for (`CIRCULAR_CALL`), CANCELLED if `close()` is called meanwhile.
   *
   * @example
   * const { loaded, reloaded, failed } = await server.rescan();
   */
  async rescan(): Promise<RescanResult> {
    this.#table.checkOpen();
    if (this.#registry) return await this.#registry.rescan();
    throw new TritonError(
      'UNSUPPORTED',
      'an attached server cannot look at the repositories: this is for the thread that called createServer',
    );
  }

  /**
   * Adds a model repository to the running server. Its models become known, and are loaded on request. Triton:
   * `TRITONSERVER_ServerRegisterModelRepository`.
   *
   * @param path - The repository's folder, as a path or a file URL, or its address in an object store. With `modelNamespacing` this text is its namespace.
   * @param options - Names for some of its models: see {@link RegisterRepositoryOptions}.
   * @throws {@link TritonError} UNSUPPORTED unless `modelControlMode` is 'explicit', and on an attached server;
   *   INVALID_ARG for wrong options and for a folder that does not exist or cannot be listed; ALREADY_EXISTS for a
   *   repository that the server has, and for a name that was given to another folder; UNAVAILABLE after `close()`,
   *   CANCELLED if `close()`, or `unregisterRepository` for it, is called meanwhile.
   *
   * @example
   * await server.registerRepository('/srv/tenant-a', { names: { digits: 'digits_a' } });
   * await server.loadModel('digits_a');
   */
  async registerRepository(path: string | URL, options: RegisterRepositoryOptions = {}): Promise<void> {
    await this.#repositories('registration').register(path, options);
  }

  /**
   * Forgets a model repository and the names of its models, also one that is being registered. What was loaded from it is served until it is unloaded, and
   * cannot be loaded again. Triton: `TRITONSERVER_ServerUnregisterModelRepository`.
   *
   * @param path - The repository's folder or address: one that was registered, or one that the server began with.
   * @throws {@link TritonError} UNSUPPORTED unless `modelControlMode` is 'explicit', and on an attached server;
   *   INVALID_ARG for a repository that the server does not have; UNAVAILABLE after `close()`.
   *
   * @example
   * await server.unregisterRepository('/srv/tenant-a');
   */
  async unregisterRepository(path: string | URL): Promise<void> {
    this.#repositories('unregistration').unregister(path);
    return Promise.resolve();
  }

  /**
   * Statistics of all served versions, of one model's versions, or of one version. Triton: `ModelStatistics`.
   *
   * @param name - The model (default: all models).
   * @param which - Its version (default: all that are served); or an object with it, and with the namespace of a model that
   *   several repositories have: see {@link ModelChoice}.
   * @throws {@link TritonError} NOT_FOUND or UNAVAILABLE for a named model or version that is not served, INVALID_ARG for wrong
   *   arguments, and without a namespace for a name that several have.
   *
   * @example
   * for (const { name, inference_count } of server.statistics()) console.log(name, inference_count);
   */
  statistics(name?: string, which?: string | number | ModelChoice): ModelStatistics[] {
    this.#table.checkOpen();
    const model = checkOptionalName(name);
    const { version, namespace } =
      typeof which === 'object'
        ? readModelChoice(which, 'statistics options')
        : { version: which, namespace: undefined };
    const asked = checkVersion(version, model, 'all');
    return serverStatistics(this.#native, this.#table, model, asked, namespace);
  }

  /**
   * Says how the last batches of a model came about, and what limits its throughput now. The engine notes it for each batch
   * whether or not somebody asks. Batches of a warm-up are left out. Triton has no counterpart.
   *
   * @param name - The model's name.
   * @param options - The version (default: the newest ready one), and the namespace of a model that several repositories have:
   *   see {@link ModelChoice}.
   * @throws {@link TritonError} NOT_FOUND or UNAVAILABLE for a model or version that is not served, UNAVAILABLE after
   *   `close()`, UNSUPPORTED for an ensemble, which forms no batches, INVALID_ARG for wrong options, and without a namespace for
   *   a name that several have. A lazy model that is not loaded has no figures but those of `lazy`.
   *
   * @example
   * console.log(server.explain('digits').summary);
   */
  explain(name: string, options: ModelChoice = {}): Explanation {
    this.#table.checkOpen();
    checkModelName(name);
    const { version, namespace } = readModelChoice(options, 'explain options');
    return this.#handles.of(name, version, namespace).explain();
  }

  /**
   * What Prometheus scrapes: its text format, version 0.0.4, with the names of Triton's metrics; docs/metrics.md has all.
   *
   * @throws {@link TritonError} UNAVAILABLE after `close()`.
   *
   * @example
   * http.createServer((_, response) => response.end(server.metrics())).listen(8002);
   */
  metrics(): string {
    return this.#metrics.text();
  }

  /**
   * The same as {@link metrics}, but it holds the event loop for a millisecond at a time: the text of a thousand models
   * takes some hundred. Those who ask while a text is made share the next one.
   *
   * @throws {@link TritonError} UNAVAILABLE after `close()`.
   *
   * @example
   * const text = await server.scrape();
   */
  scrape(): Promise<string> {
    return this.#metrics.scrape();
  }

  /**
   * A metric of the application's own, which {@link metrics} shows with the server's; the same one where it was asked for
   * before. It belongs to this object: attached servers have their own.
   *
   * @throws {@link TritonError} INVALID_ARG for names, labels or buckets that Prometheus does not take, ALREADY_EXISTS where the
   *   name has another type, help, names of labels or buckets.
   *
   * @example
   * const orders = server.metric({ name: 'orders_total', help: 'Orders', type: 'counter', labels: { shop: 'north' } });
   * orders.increment();
   */
  metric(options: MetricOptions): Metric {
    return this.#metrics.metric(options);
  }

  /**
   * Shared memory that requests read from and write to without a copy: regions that the program makes, and those of
   * other processes on this machine. Triton: the extension `system_shared_memory`.
   *
   * @example
   * const region = server.sharedMemory.create('frames', 4 * 64);
   * const { outputs } = await server.infer('digits', { image: new Float32Array(region.buffer) });
   */
  get sharedMemory(): SharedMemory {
    this.#table.checkOpen();
    return this.#regions;
  }

  /**
   * The settings by which requests are traced. Triton: the extension `trace`.
   *
   * @throws {@link TritonError} UNAVAILABLE after `close()`, UNSUPPORTED on an attached server.
   *
   * @example
   * server.trace.update({ level: 'TIMESTAMPS', rate: 1 }, 'digits');
   */
  get trace(): Tracing {
    this.#table.checkOpen();
    if (this.#trace) return this.#trace;
    throw new TritonError(
      'UNSUPPORTED',
      'an attached server has no trace settings: the thread that called createServer has them',
    );
  }

  /**
   * Refuses new requests, lets accepted ones end within a time limit, cancels the rest, and releases
   * everything. On an attached server it only ends this environment's connection. Further calls return the
   * same outcome. Triton: stopping `tritonserver`, whose `--exit-timeout-secs` is the limit.
   *
   * @param options - The time limit (default 30 s).
   * @throws {@link TritonError} INTERNAL, 2 s after the limit, if a run, load or destructor did not return
   *   and was abandoned; INVALID_ARG for wrong options.
   *
   * @example
   * process.once('SIGTERM', () => void server.close({ timeoutMs: 10_000 }));
   */
  async close(options: CloseOptions = {}): Promise<void> {
    const timeoutMs = checkCloseOptions(options);
    await (this.#closing ??= this.#close(timeoutMs));
  }

  /**
   * Calls {@link close}, for `await using`.
   *
   * @example
   * await using server = await createServer('./models'); // closed at the end of the block
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(timeoutMs: number): Promise<void> {
    forgetServer(this.#connection);
    this.#table.lazy.close();
    try {
      if (this.#registry)
        await closeServer(this.#native, this.#connection, this.#registry, timeoutMs, this.#cache);
      else await closeConnection(this.#connection, timeoutMs);
      this.#regions.close();
    } finally {
      this.#endWakes?.();
      await this.#trace?.close();
    }
  }

  #repositories(what: string): Repositories {
    this.#table.checkOpen();
    if (!this.#registry) {
      throw new TritonError(
        'UNSUPPORTED',
        'an attached server cannot register repositories: this is for the thread that called createServer',
      );
    }
    if (!this.#explicit) {
      throw new TritonError(
        'UNSUPPORTED',
        `repository ${what} is not allowed if model control mode is not EXPLICIT`,
      );
    }
    return this.#registry.repositories;
  }

  /** Loads a lazy model as its first request would; undefined if others are to be loaded, or in other ways. */
  #loadLazy(name: string, options: LoadModelOptions): Promise<LoadOutcome> | undefined {
    this.#table.checkOpen();
    // Options that are no object are refused with those that are wrong.
    const given: unknown = options;
    if (this.#explicit || typeof given !== 'object' || given === null) return undefined;
    if (Object.keys(given).length > 0) return undefined;
    const keys = this.#registry?.lazyNamed(name) ?? [];
    if (keys.length === 0) return undefined;
    const asleep = keys.filter((key) => this.#table.entry(key)?.sleeps === true);
    for (const key of asleep) this.#registry?.endPause(key);
    const loads = asleep.map((key) => this.#table.lazy.wake(key));
    return Promise.all(loads).then(() => ({ changed: asleep.length > 0 }));
  }

  #control(what: string): Registry {
    this.#table.checkOpen();
    if (!this.#registry) {
      throw new TritonError(
        'UNSUPPORTED',
        'an attached server cannot load or unload models: this is for the thread that called createServer',
      );
    }
    if (!this.#explicit) {
      throw unavailable(
        'NOT_ALLOWED',
        `models can be ${what} only if the server was created with modelControlMode: 'explicit'`,
      );
    }
    return this.#registry;
  }
}

/** How an environment asks for lazy models: the owner its registry, the others the owner. */
function lazyLoads({ connection, registry, lazyChannel, waiting, caller, by }: ServerParts): LazyLoads {
  const isUrgent = caller !== undefined;
  if (registry) return new LazyLoads(registry, connection, waiting, isUrgent);
  const waker = new ChannelWaker(lazyChannel, by);
  return new LazyLoads(waker, connection, waiting, isUrgent, () => {
    waker.close();
  });
}

/** What callers call: their frames are below this in a stack. */
/* eslint-disable @typescript-eslint/unbound-method -- never called from here */
const serverInfer = InferenceServer.prototype.infer;
const serverStream = InferenceServer.prototype.stream;
/* eslint-enable @typescript-eslint/unbound-method */
