/** A server in another process. */

import { checkObject, expected, readOptions, show } from '../argument-checks.js';
import { invalidArgument, TritonError } from '../errors.js';
import type { LoadModelOptions, ModelStatus, UnloadModelOptions } from '../index.js';
import {
  checkCloseOptions,
  checkIndexOptions,
  checkModelName,
  checkOptionalName,
  checkUnloadOptions,
  checkVersion,
} from '../server/creation/server-arguments.js';
import { loadOptionKeys, readForce } from '../registry/loading/load-options.js';
import type { Protocol } from './protocol.js';
import { ModelOfServer } from './remote-model.js';
import { SharedMemoryOfServer, type RemoteInputs, type RemoteSharedMemory } from './shared-memory.js';
import type {
  RemoteInferOptions,
  RemoteMetadata,
  RemoteModel,
  RemoteResult,
  RemoteServer,
  RemoteStatistics,
} from './types.js';

/** How many models' handles are kept for `infer` by name. */
const mostModels = 1024;

/**
 * The maximum number of entries of a list in a configuration. A sparse array may claim any length, and JSON
 * would write out all its holes.
 */
const mostEntries = 2 ** 20;

/**
 * A configuration as JSON text.
 *
 * @throws {@link TritonError} INVALID_ARG if it cannot be written as JSON.
 */
function configText(model: string, config: unknown): string {
  checkObject(config, 'load options.config');
  try {
    return JSON.stringify(config, (key, value: unknown) => {
      const path = `load options.config, '${key}',`;
      if (Array.isArray(value) && value.length > mostEntries)
        throw expected(`at most ${mostEntries} entries`, path, value);
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) checkObject(value, path);
      return value;
    });
  } catch (cause) {
    if (cause instanceof TritonError) throw cause;
    const why = cause instanceof Error ? cause.message : show(cause);
    throw invalidArgument(`model '${model}': load options.config has no JSON: ${why}`, { model, cause });
  }
}

/** See the head of this file. */
export class ServerOfProtocol implements RemoteServer {
  readonly #protocol: Protocol;
  readonly #models: Map<string, ModelOfServer> = new Map();
  readonly sharedMemory: RemoteSharedMemory;
  readonly #signal: AbortSignal | undefined;
  #closing: Promise<void> | undefined;

  /** @param signal - Closes the server's connections when it aborts. */
  constructor(protocol: Protocol, signal: AbortSignal | undefined) {
    this.#protocol = protocol;
    this.sharedMemory = new SharedMemoryOfServer(protocol);
    this.#signal = signal;
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  readonly #onAbort = (): void => {
    void this.close({ timeoutMs: 0 });
  };

  get ready(): Promise<boolean> {
    return this.#protocol.serverReady().catch(() => false);
  }

  async model(name: string, version?: string | number): Promise<RemoteModel> {
    const model = this.#handle(name, version);
    await model.checkKnown();
    return model;
  }

  async infer(
    name: string,
    inputs: RemoteInputs,
    options?: (RemoteInferOptions & { readonly version?: string | number | undefined }) | null,
  ): Promise<RemoteResult> {
    const given = options ?? {};
    checkObject(given, 'infer options');
    const { version, ...rest } = given;
    return this.#handle(name, version).infer(inputs, rest);
  }

  metadata(): Promise<RemoteMetadata> {
    return this.#protocol.serverMetadata();
  }

  async index(options: { readonly ready?: boolean | undefined } = {}): Promise<ModelStatus[]> {
    const list = await this.#protocol.index(checkIndexOptions(options));
    // Triton writes empty texts for absent values.
    return list.map(({ name, version = '', state, reason = '' }) => ({
      name,
      ...(version !== '' && { version }),
      ...(state !== undefined && { state }),
      ...(reason !== '' && { reason }),
    }));
  }

  async loadModel(name: string, options: LoadModelOptions = {}): Promise<void> {
    checkModelName(name);
    const given = readOptions<LoadModelOptions>(options, loadOptionKeys, 'load options');
    const { config, files = {}, module, parent } = given;
    if (module !== undefined)
      throw new TritonError('UNSUPPORTED', 'options.module is only for servers of this process', {
        model: name,
      });
    refuseParent(name, parent);
    checkObject(files, 'load options.files');
    const contents = (Object.entries(files) as [string, unknown][]).map(
      ([path, bytes]): [string, Uint8Array] => {
        if (bytes instanceof Uint8Array) return [path, bytes];
        throw expected('a Uint8Array', `load options.files['${path}']`, bytes);
      },
    );
    const text = config === undefined || typeof config === 'string' ? config : configText(name, config);
    await this.#protocol.load(name, text, contents, readForce(given));
  }

  async unloadModel(name: string, options: UnloadModelOptions = {}): Promise<void> {
    checkModelName(name);
    const { unloadDependents, parent } = checkUnloadOptions(options);
    refuseParent(name, parent);
    await this.#protocol.unload(name, unloadDependents);
  }

  async statistics(name?: string, version?: string | number): Promise<RemoteStatistics[]> {
    const model = checkOptionalName(name);
    return this.#protocol.statistics(model, checkVersion(version, model, 'all'));
  }

  async close(options: { readonly timeoutMs?: number | undefined } = {}): Promise<void> {
    const timeoutMs = checkCloseOptions(options);
    // A signal may outlive many connections.
    this.#signal?.removeEventListener('abort', this.#onAbort);
    await (this.#closing ??= this.#protocol.close(timeoutMs));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #handle(name: string, given: string | number | undefined): ModelOfServer {
    checkModelName(name);
    const version = checkVersion(given, name);
    const key = `${version ?? ''}/${name}`;
    let model = this.#models.get(key);
    if (model === undefined) {
      if (this.#models.size === mostModels) this.#models.clear();
      model = new ModelOfServer(this.#protocol, name, version);
      this.#models.set(key, model);
    }
    return model;
  }
}

/**
 * Throws if a parent request is given: it belongs to a model of this process, and cannot be passed to another
 * process.
 */
function refuseParent(model: string, parent: unknown): void {
  if (parent === undefined) return;
  const text = `model '${model}': options.parent is for servers of the own process`;
  throw new TritonError('UNSUPPORTED', text, { model });
}
