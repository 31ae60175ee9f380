/** A server as callers see it: its life, its models, and the door to them. */

import { addon } from '../addon/load.js';
import type { NativeServer } from '../addon/native.js';
import { checkKeys, checkObject } from '../checks.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import { invalidArgument, TritonError } from '../errors.js';
import type { ServerOptions } from '../options.js';
import type { LoadModelOptions } from '../registry/override.js';
import type { Registry } from '../registry/registry.js';
import type { Inputs } from '../tensor/inputs.js';
import { packageVersion } from '../version.js';
import { closeConnection, closeServer } from './closing.js';
import { forgetServer, watchServer } from './dropped.js';
import type { ModelStatistics, ModelStatus, ServerMetadata } from './metadata.js';
import type { Model, TypedModel } from './model.js';
import { ModelHandle } from './model-handle.js';
import { ModelTable } from './model-table.js';
import { indexOf, isReady } from './repository-index.js';
import type { InferOptions, InferResult, RequestedOutputs } from './results.js';
import type { InputsOf, ModelRegistry, OutputNames, SignatureOf, WantedOf } from './signature.js';
import {
  checkCloseOptions,
  checkModelName,
  checkUnloadOptions,
  checkVersion,
  type CloseOptions,
  type UnloadModelOptions,
} from './server-arguments.js';
import type { ServerHandle } from './server-handle.js';
import type { ServerParts } from './server-parts.js';
import { statisticsOf } from './statistics.js';

/** Handles that are kept so that whoever asks for a model again gets the same; any string of digits may be asked for. */
const mostHandles = 1024;

/** The type of {@link createServer}. */
export interface CreateServer {
  (
    source: string | URL | readonly (string | URL)[],
    options?: Omit<ServerOptions, 'modelRepository'>,
  ): Promise<InferenceServer>;
  (options: ServerOptions): Promise<InferenceServer>;
}

/** Makes a server of its parts: the only way to the constructor. */
export let newServer: (parts: ServerParts) => InferenceServer;

/** Not exported: what `new InferenceServer()` of a program lacks. */
const constructing = Symbol('constructing');

/**
 * An inference server inside this process. It exists only when it is up: get one from {@link createServer}, or from
 * {@link attachServer} in a worker of the same process.
 *
 * An idle server does not keep the process alive; a request in flight does.
 *
 * @example
 * await using server: InferenceServer = await createServer('./models');
 * const { outputs } = await server.model('digits').infer({ image: new Float32Array(64) });
 */
export class InferenceServer implements AsyncDisposable {
  /** The same as {@link createServer}, whose module puts it here. */
  declare static readonly create: CreateServer;

  static {
    newServer = (parts: ServerParts): InferenceServer => new InferenceServer(constructing, parts);
  }

  #handle: ServerHandle | undefined;
  readonly #captureStacks: boolean;
  readonly #devices: () => readonly string[];
  readonly #native: NativeServer;
  readonly #dispatcher: Dispatcher;
  readonly #table: ModelTable;
  /** Only the server that was created here loads and unloads. */
  readonly #registry: Registry | undefined;
  readonly #explicit: boolean;
  /** At most {@link mostHandles}, oldest first. */
  readonly #models: Map<string, ModelHandle> = new Map();
  #closing: Promise<void> | undefined;

  private constructor(key: symbol, parts: ServerParts) {
    // A program in JavaScript gets this far with whatever it passes.
    if (key !== constructing) {
      throw invalidArgument(
        'InferenceServer has no public constructor: use await createServer(modelRepository)',
      );
    }
    const { native, dispatcher, registry, explicit, captureStacks, repositories, devices } = parts;
    this.#native = native;
    this.#dispatcher = dispatcher;
    this.#table = new ModelTable(native, dispatcher);
    this.#registry = registry;
    this.#explicit = explicit;
    this.#captureStacks = captureStacks;
    this.#devices = devices;
    watchServer(this.#table, { native, dispatcher, repositories });
  }

  /**
   * Names this server for {@link attachServer}; structured-cloneable. Who has asked for it closes the server: it may be
   * in use somewhere else, and so it is not closed when it is dropped here.
   */
  get handle(): ServerHandle {
    // Connections end by themselves.
    if (this.#registry) forgetServer(this.#dispatcher);
    this.#handle ??= Object.freeze({
      tritonts: 'server',
      process: process.pid,
      engine: addon().engineId(),
      id: this.#native.id(),
      captureStacks: this.#captureStacks,
      devices: Object.freeze([...this.#devices()]),
    });
    return this.#handle;
  }

  /** Whether all models that should be served are. Triton: `TRITONSERVER_ServerIsReady` with strict readiness. */
  get ready(): boolean {
    if (this.#closing || this.#dispatcher.closed) return false;
    return isReady(indexOf(this.#table));
  }

  /**
   * A model's handle. It may be kept: it survives reloads.
   *
   * @param version - A version to pin; by default each request takes the newest ready one.
   * @returns The model; its inputs and outputs are typed by name where it is in {@link ModelRegistry}.
   * @throws {TritonError} NOT_FOUND if no repository knows the name, UNAVAILABLE after `close()`.
   *
   * @example
   * const model = server.model('digits');
   * const pinned = server.model('digits', 2);
   */
  model<N extends keyof ModelRegistry>(name: N, version?: string | number): TypedModel<SignatureOf<N>>;
  model(name: string, version?: string | number): Model;
  model(name: string, version?: string | number): Model {
    return this.#model(name, version);
  }

  #model(name: string, version: string | number | undefined): ModelHandle {
    this.#table.checkOpen();
    if (typeof (name as unknown) !== 'string')
      throw invalidArgument(`expected a model's name but received ${typeof name}`);
    const pinned = checkVersion(version);
    const key = pinned === undefined ? name : `${name}\0${pinned}`;
    const known = this.#models.get(key);
    if (known) return known;
    if (!this.#table.entry(name)) throw this.#table.unknown(name);
    const model = new ModelHandle(this.#native, this.#table, name, pinned);
    if (this.#models.size >= mostHandles) {
      // The oldest; its holders may go on using it.
      const [oldest] = this.#models.keys();
      if (oldest !== undefined) this.#models.delete(oldest);
    }
    this.#models.set(key, model);
    return model;
  }

  /**
   * `server.model(name, options.version).infer(inputs, options)`; rejects where that would throw.
   *
   * @returns As {@link Model.infer}.
   *
   * @example
   * const { outputs } = await server.infer('digits', { image: new Float32Array(64) });
   */
  infer<
    N extends keyof ModelRegistry,
    const W extends RequestedOutputs<OutputNames<SignatureOf<N>>> | undefined = undefined,
  >(
    name: N,
    inputs: InputsOf<SignatureOf<N>>,
    options?: InferOptions<OutputNames<SignatureOf<N>>, W> & {
      readonly version?: string | number | undefined;
    },
  ): Promise<InferResult<WantedOf<SignatureOf<N>, W>>>;
  infer(
    name: string,
    inputs: Inputs,
    options?: InferOptions & { readonly version?: string | number | undefined },
  ): Promise<InferResult>;
  async infer(
    name: string,
    inputs: Inputs,
    options: InferOptions & { readonly version?: string | number | undefined } = {},
  ): Promise<InferResult> {
    checkObject(options, 'infer options');
    const { version, ...rest } = options;
    return this.#model(name, version).inferFor(serverInfer, inputs, rest);
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
      devices: [...this.#devices()],
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
    const list = indexOf(this.#table);
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
   * @throws {TritonError} INVALID_ARG for wrong options, else as {@link loadModel}; unloading what is not loaded succeeds.
   *
   * @example
   * await server.unloadModel('digits');
   */
  async unloadModel(name: string, options: UnloadModelOptions = {}): Promise<void> {
    checkUnloadOptions(options);
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
    if (this.#registry) await closeServer(this.#native, this.#dispatcher, this.#registry, timeoutMs);
    else await closeConnection(this.#dispatcher, timeoutMs);
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
