/** A server: its life, its models, and the door to them. */

import { addon } from '../addon/load.js';
import type { NativeServer } from '../addon/native.js';
import { Dispatcher } from '../dispatch/dispatcher.js';
import { checkKeys, checkObject } from '../checks.js';
import { invalidArgument, TritonError } from '../errors.js';
import { lazy } from '../lazy.js';
import type { ServerOptions } from '../options.js';
import type { LoadModelOptions } from '../registry/override.js';
import type { Registry } from '../registry/registry.js';
import type { Inputs } from '../tensor/types.js';
import { packageVersion } from '../version.js';
import { forgetServer, watchServer } from './dropped.js';
import { takeOptions } from './given-options.js';
import { ModelTable } from './model-table.js';
import { Model } from './model.js';
import { statisticsOf } from './statistics.js';
import type { InferOptions, InferResult, ModelStatistics, ModelStatus, ServerMetadata } from './types.js';

/**
 * Names a server within its process; can be sent to a worker_thread, which connects with {@link attachServer}.
 */
export interface ServerHandle {
  readonly tritonts: 'server';
  readonly process: number;
  /** Which copy of the addon the server is in. */
  readonly engine: number;
  readonly id: number;
  readonly captureStacks: boolean;
}

/** Options of {@link InferenceServer.close}. */
export interface CloseOptions {
  /** How long accepted requests may still run, in milliseconds (default 30,000); 0: cancel them now. */
  readonly timeoutMs?: number | undefined;
}

/** Not exported: whoever has it may construct a server. */
const constructing = Symbol('constructing');

/** Handles that are kept so that whoever asks for a model again gets the same; any string of digits may be asked for. */
const mostHandles = 1024;

const defaultCloseMs = 30_000;
/** How long a server whose engine has closed waits for its environment's part. */
const settleMs = 1000;
const attachLimit = 2 ** 30;

/**
 * An inference server inside this process. It exists only when it is up: get one from {@link createServer}, or from
 * {@link attachServer} in a worker of the same process.
 *
 * An idle server does not keep the process alive; a request in flight does.
 */
export class InferenceServer implements AsyncDisposable {
  /** The same as {@link createServer}. */
  static readonly create: typeof createServer = createServer;

  readonly #handle: ServerHandle;
  readonly #native: NativeServer;
  readonly #dispatcher: Dispatcher;
  readonly #table: ModelTable;
  /** Only the server that was created here loads and unloads. */
  readonly #registry: Registry | undefined;
  readonly #explicit: boolean;
  /** At most {@link mostHandles}, oldest first. */
  readonly #models: Map<string, Model> = new Map();
  #closing: Promise<void> | undefined;

  /** @internal Use {@link createServer}. */
  constructor(
    key: symbol,
    native: NativeServer,
    dispatcher: Dispatcher,
    registry: Registry | undefined,
    options: {
      readonly explicit: boolean;
      readonly captureStacks: boolean;
      readonly repositories: readonly string[] | undefined;
    },
  ) {
    if (key !== constructing) {
      throw invalidArgument(
        'InferenceServer has no public constructor: use await createServer(modelRepository)',
      );
    }
    this.#native = native;
    this.#dispatcher = dispatcher;
    this.#table = new ModelTable(native, dispatcher);
    this.#registry = registry;
    this.#explicit = options.explicit;
    this.#handle = Object.freeze({
      tritonts: 'server',
      process: process.pid,
      engine: addon().engineId(),
      id: native.id(),
      captureStacks: options.captureStacks,
    });
    watchServer(this.#table, { native, dispatcher, repositories: options.repositories });
  }

  /**
   * Names this server for {@link attachServer}; structured-cloneable. Who has asked for it closes the server: it may be
   * in use somewhere else, and so it is not closed when it is dropped here.
   */
  get handle(): ServerHandle {
    // Connections end by themselves.
    if (this.#registry) forgetServer(this.#dispatcher);
    return this.#handle;
  }

  /** Whether all models that should be served are. Triton: `TRITONSERVER_ServerIsReady` with strict readiness. */
  get ready(): boolean {
    if (this.#closing || this.#dispatcher.closed) return false;
    return this.index().every(
      ({ state, reason }) =>
        state === undefined || state === 'READY' || (state === 'UNAVAILABLE' && reason === 'unloaded'),
    );
  }

  /**
   * A model's handle. It may be kept: it survives reloads.
   *
   * @param version - A version to pin; by default each request takes the newest ready one.
   * @throws {TritonError} NOT_FOUND if no repository knows the name, UNAVAILABLE after `close()`.
   */
  model(name: string, version?: string | number): Model {
    this.#table.checkOpen();
    if (typeof (name as unknown) !== 'string')
      throw invalidArgument(`expected a model's name but received ${typeof name}`);
    const pinned = checkVersion(version);
    const key = pinned === undefined ? name : `${name}\0${pinned}`;
    const known = this.#models.get(key);
    if (known) return known;
    if (!this.#table.entry(name)) throw this.#table.unknown(name);
    const model = new Model(this.#native, this.#table, name, pinned);
    if (this.#models.size >= mostHandles) {
      // The oldest; its holders may go on using it.
      const [oldest] = this.#models.keys();
      if (oldest !== undefined) this.#models.delete(oldest);
    }
    this.#models.set(key, model);
    return model;
  }

  /** `server.model(name, options.version).infer(inputs, options)`; rejects where that would throw. */
  async infer(
    name: string,
    inputs: Inputs,
    options: InferOptions & { readonly version?: string | number | undefined } = {},
  ): Promise<InferResult> {
    checkObject(options, 'infer options');
    const { version, ...rest } = options;
    return this.model(name, version).inferFor(serverInfer, inputs, rest);
  }

  /** What this server is. Triton: server metadata. */
  metadata(): ServerMetadata {
    this.#table.checkOpen();
    return {
      name: 'tritonts',
      version: packageVersion,
      extensions: this.#explicit
        ? ['model_repository', 'model_configuration', 'statistics']
        : ['model_configuration', 'statistics'],
      backends: addon().backends(),
      devices: ['cpu'],
    };
  }

  /**
   * All models of the repositories, with the state and reason of each version. Triton: `RepositoryIndex`.
   *
   * @param options - `ready: true`: only what is ready.
   */
  index(options: { readonly ready?: boolean | undefined } = {}): ModelStatus[] {
    this.#table.checkOpen();
    checkObject(options, 'index options');
    checkKeys(options, ['ready'], 'index options');
    const list: ModelStatus[] = [];
    for (const name of this.#table.names()) {
      const published = this.#table.entry(name)?.published;
      if (!published) continue;
      for (const { version, state, reason } of published.versions) {
        list.push({ name, version: String(version), state, ...(reason === '' ? {} : { reason }) });
      }
      if (published.versions.length > 0) continue;
      list.push(
        published.state === '' ? { name } : { name, state: published.state, reason: published.reason },
      );
    }
    return options.ready === true ? list.filter(({ state }) => state === 'READY') : list;
  }

  /**
   * Loads a model, or loads it anew if its files have changed. Requests go on meanwhile. Triton: `LoadModel`.
   *
   * @param options - Another configuration, or other files, than the repository's; then it is always loaded anew.
   * @throws {TritonError} UNAVAILABLE unless `modelControlMode` is 'explicit', UNSUPPORTED on an attached server,
   *   NOT_FOUND if no repository has it, else the reason why it cannot be loaded; what was served then goes on. What
   *   `onProgress` throws, when the load has ended.
   */
  async loadModel(name: string, options: LoadModelOptions = {}): Promise<void> {
    const registry = this.#control('loaded');
    checkModelName(name);
    await registry.load(name, options);
  }

  /**
   * Unloads a model; resolves when its requests have ended and its memory is free. Triton: `UnloadModel`.
   *
   * @throws {TritonError} As {@link loadModel}; unloading what is not loaded succeeds.
   */
  async unloadModel(name: string): Promise<void> {
    await this.#control('unloaded').unload(name);
  }

  /**
   * Statistics of all versions that are served, or of one model's, or of one version. Triton: `ModelStatistics`.
   *
   * @throws {TritonError} NOT_FOUND or UNAVAILABLE for a named model or version that is not served.
   */
  statistics(name?: string, version?: string | number): ModelStatistics[] {
    this.#table.checkOpen();
    const pinned = checkVersion(version);
    if (name !== undefined && (pinned !== undefined || !this.#table.entry(name)?.ready.length)) {
      const ready = this.#table.resolve(name, pinned);
      return [statisticsOf(ready, this.#native.statistics(ready.uid))];
    }
    return (name === undefined ? this.#table.names() : [name]).flatMap((model) =>
      (this.#table.entry(model)?.ready ?? [])
        .map((ready) => statisticsOf(ready, this.#native.statistics(ready.uid)))
        .reverse(),
    );
  }

  /**
   * Refuses new requests, finishes accepted ones up to a time limit, cancels the rest, and releases everything. On an
   * attached server it ends this environment's connection only. Idempotent.
   *
   * @throws {TritonError} INTERNAL, 2 s after the limit, if a run, load or destructor did not return; it is then abandoned.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    const timeoutMs = checkCloseOptions(options);
    await (this.#closing ??= this.#close(timeoutMs));
  }

  /** {@link close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(timeoutMs: number): Promise<void> {
    forgetServer(this.#dispatcher);
    const closed = new TritonError('UNAVAILABLE', 'the server is closed');
    if (!this.#registry) {
      this.#dispatcher.refuse();
      await finishWithin(this.#dispatcher, timeoutMs);
      await this.#dispatcher.detach(
        new TritonError('CANCELLED', 'the connection to the server was closed before the request ran'),
      );
      return;
    }
    this.#dispatcher.flush();
    this.#registry.giveUp();
    const abandoned = await new Promise<readonly string[]>((resolve) => {
      this.#native.close(Math.min(timeoutMs, Number.MAX_SAFE_INTEGER), resolve);
    });
    // Every request has its answer by now; they are on their way to this thread. Loads are refused, but what one of them
    // waits for may be a file system that does not answer: nobody waits for that.
    await within(settleMs, Promise.all([this.#dispatcher.idle(), this.#registry.settled()]));
    this.#native.join();
    await this.#dispatcher.detach(closed);
    if (abandoned.length > 0) {
      throw new TritonError(
        'INTERNAL',
        `the server was closed, but a run, load or destructor of ${abandoned.map((name) => `'${name}'`).join(', ')} ` +
          'did not return; what it runs in was abandoned',
      );
    }
  }

  #control(what: string): Registry {
    this.#table.checkOpen();
    if (!this.#registry) {
      throw new TritonError(
        'UNSUPPORTED',
        `models are ${what} by the server that was created, not by an attached one`,
      );
    }
    if (!this.#explicit) {
      throw new TritonError('UNAVAILABLE', `models can be ${what} only with modelControlMode: 'explicit'`);
    }
    return this.#registry;
  }
}

/** What callers call: their frames are below this in a stack. */
// eslint-disable-next-line @typescript-eslint/unbound-method -- never called from here
const serverInfer = InferenceServer.prototype.infer;

function checkCloseOptions(options: CloseOptions): number {
  checkObject(options, 'close options');
  checkKeys(options, ['timeoutMs'], 'close options');
  const { timeoutMs = defaultCloseMs } = options;
  if (typeof (timeoutMs as unknown) === 'number' && timeoutMs >= 0) return timeoutMs;
  throw invalidArgument(
    `expected milliseconds, 0 or more, for close options.timeoutMs but received ${String(timeoutMs)}`,
  );
}

/** As Triton checks the name of a load: it becomes a folder's name. */
function checkModelName(name: unknown): void {
  if (typeof name === 'string' && name.trim() !== '' && name !== '..' && !name.includes('/')) return;
  throw invalidArgument(
    `expected a model's name, without '/', but received ${typeof name === 'string' ? `'${name}'` : typeof name}`,
  );
}

function checkVersion(version: unknown): string | undefined {
  if (version === undefined) return undefined;
  if (typeof version === 'number' && Number.isSafeInteger(version) && version >= 0) return String(version);
  if (typeof version === 'string' && /^(0|[1-9]\d*)$/.test(version)) return version;
  throw invalidArgument(
    `expected a version number but received ${typeof version === 'string' || typeof version === 'number' ? `'${version}'` : typeof version}`,
  );
}

/** Resolves when no request of the port is in flight, or after the time. */
async function finishWithin(dispatcher: Dispatcher, timeoutMs: number): Promise<void> {
  dispatcher.flush();
  await within(timeoutMs, dispatcher.idle());
}

/** Resolves with a promise that does not reject, or after the time. */
async function within(timeoutMs: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    // Longer than a timer can wait is for ever.
    if (timeoutMs < 2 ** 31) timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([promise, limit]);
  clearTimeout(timer);
}

/**
 * Starts a server: reads model repositories in Triton's layout and loads the models.
 *
 * @param source - Folder of models, or several, as paths or file URLs. All that is given is copied before this returns, and
 *   relative paths start at what is the working directory then.
 * @returns The server, when the models that it should load are ready.
 * @throws {TritonError} INVALID_ARG for wrong options, NOT_FOUND for a folder that is not there, CANCELLED by
 *   `options.signal`; if models cannot be loaded, one error that lists each with its reason, with an AggregateError of
 *   them as `cause`. It rejects as well with what `options.onProgress` throws. Everything is released then.
 *
 * @example
 * const server = await createServer('./models');
 * const { outputs } = await server.model('digits').infer({ image: new Float32Array(64) });
 * await server.close();
 */
export function createServer(
  source: string | URL | readonly (string | URL)[],
  options?: Omit<ServerOptions, 'modelRepository'>,
): Promise<InferenceServer>;
/** Starts a server, with everything in one object. */
export function createServer(options: ServerOptions): Promise<InferenceServer>;
export function createServer(
  source: string | URL | readonly (string | URL)[] | ServerOptions,
  options?: Omit<ServerOptions, 'modelRepository'>,
): Promise<InferenceServer> {
  return create(source, options);
}

/** Half of the package's modules, which neither an import nor an attached server needs. */
const creation = lazy(() =>
  Promise.all([import('../options.js'), import('../addon/server.js'), import('../registry/registry.js')]),
);

async function create(
  source: string | URL | readonly (string | URL)[] | ServerOptions,
  options?: Omit<ServerOptions, 'modelRepository'>,
): Promise<InferenceServer> {
  const isSource = typeof source === 'string' || source instanceof URL || Array.isArray(source);
  if (!isSource && options !== undefined) {
    throw invalidArgument('options are given twice: as the first argument and as the second');
  }
  if (options !== undefined) {
    checkObject(options, 'options');
    if ('modelRepository' in options) {
      throw invalidArgument(
        'the model repository is given twice: as the first argument and as options.modelRepository',
      );
    }
  }
  // Array.isArray does not narrow readonly arrays.
  const given = isSource
    ? { ...options, modelRepository: source as string | URL | readonly (string | URL)[] }
    : (source as ServerOptions);
  const taken = takeOptions(given);
  const [{ resolveOptions }, { createEngine }, { Registry }] = await creation();
  const resolved = resolveOptions(taken.options, taken.workingDirectory);
  const { signal } = resolved;
  throwIfAborted(signal);
  const native = createEngine(resolved);
  const registry = new Registry(native, resolved);
  const dispatcher = Dispatcher.attach(native, resolved);
  const server = new InferenceServer(constructing, native, dispatcher, registry, {
    explicit: resolved.modelControlMode === 'explicit',
    captureStacks: resolved.captureStacks,
    repositories: resolved.repositories,
  });
  const giveUp = (): void => {
    registry.giveUp();
    // Also ends loads that do not return; the error of the signal is the one that counts.
    server.close({ timeoutMs: 0 }).catch(() => undefined);
  };
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    await registry.scan();
    throwIfAborted(signal);
    await registry.loadAll();
    throwIfAborted(signal);
    return server;
  } catch (error) {
    await server.close({ timeoutMs: 0 }).catch(() => undefined);
    throwIfAborted(signal);
    throw error;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) {
    throw new TritonError('CANCELLED', 'starting the server was given up by its signal', {
      cause: signal.reason,
    });
  }
}

/**
 * Connects this environment (a worker_thread, say) to a server of the same process: the same models, the same weights,
 * no loading and unloading.
 *
 * @param handle - `server.handle` of the server, as it came through `workerData` or a message.
 * @throws {TritonError} INVALID_ARG for something that is no handle or comes from another process, UNAVAILABLE when the
 *   server is closed.
 *
 * @example
 * // in the worker
 * const server = await attachServer(workerData.handle);
 * const result = await server.model('digits').infer({ image });
 * await server.close(); // ends this connection only
 */
export async function attachServer(handle: ServerHandle): Promise<InferenceServer> {
  const given: unknown = handle;
  checkObject(given, 'the server handle');
  if ((handle.tritonts as unknown) !== 'server' || !Number.isSafeInteger(handle.id)) {
    throw invalidArgument('expected the handle of a server (server.handle)');
  }
  if (handle.process !== process.pid) {
    throw invalidArgument(
      `the handle belongs to process ${handle.process}, this is process ${process.pid}: models are shared by the threads of one process`,
    );
  }
  if (handle.engine !== addon().engineId()) {
    throw invalidArgument(
      'the handle belongs to another copy of the package in this process, with an addon of its own: both must load the same file',
    );
  }
  const native = addon().findServer(handle.id);
  if (!native) throw new TritonError('UNAVAILABLE', 'the server is closed');
  const dispatcher = Dispatcher.attach(native, {
    maxInFlightBytes: attachLimit,
    captureStacks: handle.captureStacks,
  });
  const server = new InferenceServer(constructing, native, dispatcher, undefined, {
    explicit: false,
    captureStacks: handle.captureStacks,
    repositories: undefined,
  });
  if (dispatcher.closed) {
    await server.close({ timeoutMs: 0 });
    throw new TritonError('UNAVAILABLE', 'the server is closed');
  }
  return Promise.resolve(server);
}
