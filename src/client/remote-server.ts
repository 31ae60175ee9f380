/** A server in another process. */

import { checkKeys, checkObject } from '../argument-checks.js';
import { TritonError } from '../errors.js';
import type { LoadModelOptions, ModelStatus, UnloadModelOptions } from '../index.js';
import {
  checkCloseOptions,
  checkModelName,
  checkUnloadOptions,
  checkVersion,
} from '../server/server-arguments.js';
import type { Inputs } from '../tensor/inputs.js';
import type { Connection } from './connection.js';
import { HttpModel } from './remote-model.js';
import type {
  RemoteInferOptions,
  RemoteMetadata,
  RemoteModel,
  RemoteResult,
  RemoteServer,
  RemoteStatistics,
} from './types.js';

/** How many models' descriptions are kept for `infer` by name. */
const mostModels = 1024;

/** See the head of this file. */
export class HttpServer implements RemoteServer {
  readonly #connection: Connection;
  readonly #models: Map<string, HttpModel> = new Map();
  #closing: Promise<void> | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get ready(): Promise<boolean> {
    return this.#connection.ask({ method: 'GET', path: '/v2/health/ready', reads: true }).then(
      (answer) => !('error' in answer),
      () => false,
    );
  }

  async model(name: string, version?: string | number): Promise<RemoteModel> {
    const model = this.#handle(name, version);
    await model.checkKnown();
    return model;
  }

  async infer(
    name: string,
    inputs: Inputs,
    options: RemoteInferOptions & { readonly version?: string | number | undefined } = {},
  ): Promise<RemoteResult> {
    checkObject(options, 'infer options');
    const { version, ...rest } = options;
    return this.#handle(name, version).infer(inputs, rest);
  }

  metadata(): Promise<RemoteMetadata> {
    return this.#json('GET', '/v2');
  }

  async index(options: { readonly ready?: boolean | undefined } = {}): Promise<ModelStatus[]> {
    checkObject(options, 'index options');
    checkKeys(options, ['ready'], 'index options');
    const body = { ready: options.ready === true };
    const list = await this.#json<readonly ModelStatus[]>('POST', '/v2/repository/index', body);
    // Triton writes empty texts where there is nothing to say.
    return list.map(({ name, version = '', state, reason = '' }) => ({
      name,
      ...(version !== '' && { version }),
      ...(state !== undefined && { state }),
      ...(reason !== '' && { reason }),
    }));
  }

  async loadModel(name: string, options: LoadModelOptions = {}): Promise<void> {
    checkModelName(name);
    checkObject(options, 'load options');
    checkKeys(options, ['config', 'files', 'module'], 'load options');
    const { config, files = {}, module } = options;
    if (module !== undefined)
      throw new TritonError('UNSUPPORTED', 'options.module is for servers of the own process', {
        model: name,
      });
    checkObject(files, 'load options.files');
    const parameters = Object.fromEntries([
      ...(config === undefined
        ? []
        : [['config', typeof config === 'string' ? config : JSON.stringify(config)] as const]),
      ...Object.entries(files).map(
        ([path, bytes]) => [`file:${path}`, Buffer.from(bytes).toString('base64')] as const,
      ),
    ]);
    await this.#control(name, 'load', parameters);
  }

  async unloadModel(name: string, options: UnloadModelOptions = {}): Promise<void> {
    checkModelName(name);
    checkUnloadOptions(options);
    await this.#control(name, 'unload', { unload_dependents: options.unloadDependents === true });
  }

  async statistics(name?: string, version?: string | number): Promise<RemoteStatistics[]> {
    const pinned = checkVersion(version);
    const model = name === undefined ? '' : `/${encodeURIComponent(name)}`;
    const path = `/v2/models${model}${pinned === undefined ? '' : `/versions/${pinned}`}/stats`;
    const { model_stats: all } = await this.#json<{ readonly model_stats: RemoteStatistics[] }>('GET', path);
    return all;
  }

  async close(options: { readonly timeoutMs?: number | undefined } = {}): Promise<void> {
    const timeoutMs = checkCloseOptions(options);
    await (this.#closing ??= this.#connection.close(timeoutMs));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #handle(name: string, given: string | number | undefined): HttpModel {
    checkModelName(name);
    const version = checkVersion(given);
    const key = `${version ?? ''}/${name}`;
    let model = this.#models.get(key);
    if (model === undefined) {
      if (this.#models.size === mostModels) this.#models.clear();
      model = new HttpModel(this.#connection, name, version);
      this.#models.set(key, model);
    }
    return model;
  }

  async #json<T>(method: 'GET' | 'POST', path: string, given?: object): Promise<T> {
    const { body } = await this.#connection.call({
      method,
      path,
      reads: true,
      ...(given !== undefined && { body: [Buffer.from(JSON.stringify(given))] }),
    });
    // The server's answers have the form that KServe v2 gives them.
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')) as T;
  }

  async #control(name: string, what: 'load' | 'unload', parameters: object): Promise<void> {
    await this.#connection.call({
      method: 'POST',
      path: `/v2/repository/models/${encodeURIComponent(name)}/${what}`,
      headers: { 'Content-Type': 'application/json' },
      body: [Buffer.from(JSON.stringify({ parameters }))],
      reads: false,
      model: name,
    });
  }
}
