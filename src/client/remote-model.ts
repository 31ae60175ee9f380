/** A model of another process. */

import type { ModelConfig } from '../config/index.js';
import type { Waiter } from '../dispatch/types.js';
import { TritonError } from '../errors.js';
import type { ModelMetadata } from '../index.js';
import { checkInferOptions, SharedOptions, type CheckedOptions } from '../server/infer-options.js';
import type { Mappable } from '../server/map-entry.js';
import { mapModel } from '../server/map.js';
import type { InferOptions, InferResult, MapOptions } from '../server/results.js';
import { failedStream } from '../server/stream-iterator.js';
import type { Inputs } from '../tensor/inputs.js';
import type { Answer, Connection, Refusal } from './connection.js';
import { readConfig, RemoteVersion, type RequestBody } from './remote-version.js';
import type {
  RemoteInferOptions,
  RemoteMapOptions,
  RemoteModel,
  RemoteOutcome,
  RemoteResult,
  RemoteStatistics,
} from './types.js';

/** How many requests `map` has under way by default: as many as there are connections by default. */
const defaultConcurrency = 64;

/** Checked options with what they were read from. */
interface RemoteOptions extends CheckedOptions {
  readonly given: RemoteInferOptions;
}

/** See the head of this file. */
export class HttpModel implements RemoteModel {
  readonly name: string;
  readonly version: string | undefined;
  readonly #connection: Connection;
  readonly #path: string;
  readonly #shared: SharedOptions;
  readonly #mappable: Mappable;
  /** What cancels the requests of a map. */
  readonly #owned: Map<object, AbortController> = new Map();
  /** What the server says of the model; it is asked again after a refusal, since the model may be another one by then. */
  #described: RemoteVersion | undefined;
  #describedAs = '';
  #describing: Promise<RemoteVersion> | undefined;

  constructor(connection: Connection, name: string, version: string | undefined) {
    this.#connection = connection;
    this.name = name;
    this.version = version;
    this.#shared = new SharedOptions(version !== undefined);
    const pinned = version === undefined ? '' : `/versions/${version}`;
    this.#path = `/v2/models/${encodeURIComponent(name)}${pinned}`;
    this.#mappable = {
      name,
      defaultConcurrency,
      check: (options) => this.#check(options),
      cancelAll: (owner) => {
        this.#owned.get(owner)?.abort();
        this.#owned.delete(owner);
      },
      sendChecked: (inputs, options, waiter) => {
        this.#sendItem(inputs, options, waiter);
      },
    };
  }

  get ready(): Promise<boolean> {
    return this.#askReady().then((answer) => !('error' in answer));
  }

  get metadata(): Promise<ModelMetadata> {
    return this.#get<ModelMetadata>('');
  }

  get config(): Promise<ModelConfig> {
    return this.#read('/config').then((text) => readConfig(this.name, text));
  }

  async infer(inputs: Inputs, options: RemoteInferOptions = {}): Promise<RemoteResult> {
    return this.#infer(inputs, this.#check(options).given);
  }

  stream(inputs: Inputs, options: RemoteInferOptions = {}): AsyncIterableIterator<RemoteResult> {
    if (options.into !== undefined) {
      const text = `model '${this.name}': stream does not take options.into`;
      return failedStream(new TritonError('INVALID_ARG', text, { model: this.name }));
    }
    const left = new AbortController();
    const signal =
      options.signal === undefined ? left.signal : AbortSignal.any([options.signal, left.signal]);
    return once(this.infer(inputs, { ...options, signal }), () => {
      left.abort();
    });
  }

  map(
    items: Iterable<Inputs> | AsyncIterable<Inputs>,
    options?: RemoteMapOptions & {
      readonly ordered?: true | undefined;
      readonly onError?: 'throw' | undefined;
    },
  ): AsyncIterableIterator<RemoteResult>;
  map(
    items: Iterable<Inputs> | AsyncIterable<Inputs>,
    options: RemoteMapOptions,
  ): AsyncIterableIterator<RemoteOutcome>;
  map(
    items: Iterable<Inputs> | AsyncIterable<Inputs>,
    options: RemoteMapOptions = {},
  ): AsyncIterableIterator<RemoteResult | RemoteOutcome> {
    return mapModel(this.#mappable, items, options satisfies MapOptions);
  }

  async statistics(): Promise<RemoteStatistics> {
    const { model_stats: all } = await this.#get<{ readonly model_stats: readonly RemoteStatistics[] }>(
      '/stats',
    );
    const newest = all.at(-1);
    if (newest !== undefined) return newest;
    throw new TritonError('NOT_FOUND', `model '${this.name}' has no statistics`, { model: this.name });
  }

  /** @throws {@link TritonError} NOT_FOUND for a model that the server does not know. */
  async checkKnown(): Promise<void> {
    if (this.#described !== undefined) return;
    const answer = await this.#askReady();
    if (!('error' in answer)) await this.#describe();
    else if (answer.status === 404 || answer.status === 403) throw answer.error;
  }

  #askReady(): Promise<Answer | Refusal> {
    return this.#connection.ask({
      method: 'GET',
      path: `${this.#path}/ready`,
      reads: true,
      model: this.name,
    });
  }

  async #read(below: string): Promise<string> {
    const path = `${this.#path}${below}`;
    const { body } = await this.#connection.call({ method: 'GET', path, reads: true, model: this.name });
    return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  }

  async #get<T>(below: string): Promise<T> {
    // The server's answers have the form that KServe v2 gives them.
    return JSON.parse(await this.#read(below)) as T;
  }

  #check(given: RemoteInferOptions): RemoteOptions {
    const { parent }: InferOptions = given;
    if (parent !== undefined) {
      const text = `model '${this.name}': options.parent is for models of the own process`;
      throw new TritonError('UNSUPPORTED', text, { model: this.name });
    }
    // A program may change its options while the request is under way.
    return { ...checkInferOptions(this.name, given, this.#shared), given: { ...given } };
  }

  /** What the server says of the model now. */
  #describe(): Promise<RemoteVersion> {
    this.#describing ??= this.#ask().finally(() => {
      this.#describing = undefined;
    });
    return this.#describing;
  }

  async #ask(): Promise<RemoteVersion> {
    const [metadata, config] = await Promise.all([
      this.metadata,
      // KServe v2 alone has no configurations.
      this.config.catch(() => undefined),
    ]);
    const text = JSON.stringify([metadata, config]);
    // As long as it says the same, the same object has it.
    if (this.#described === undefined || this.#describedAs !== text) {
      this.#described = new RemoteVersion(this.name, metadata, config);
      this.#describedAs = text;
    }
    return this.#described;
  }

  async #infer(inputs: Inputs, options: RemoteInferOptions): Promise<RemoteResult> {
    const known = this.#described;
    if (known === undefined) {
      const first = await this.#connection.unlessCancelled(this.#describe(), options.signal, this.name);
      return this.#send(first, first.write(inputs, options), options);
    }
    let body: RequestBody;
    try {
      body = known.write(inputs, options);
    } catch (error) {
      // The model may be another one by now.
      const newest = await this.#describe().catch(() => known);
      if (newest === known) throw error;
      return this.#send(newest, newest.write(inputs, options), options);
    }
    return this.#send(known, body, options);
  }

  async #send(version: RemoteVersion, body: RequestBody, options: RemoteInferOptions): Promise<RemoteResult> {
    const { signal } = options;
    const answer = await this.#connection.ask({
      method: 'POST',
      path: `${this.#path}/infer`,
      headers: {
        'Content-Type': 'application/octet-stream',
        'Inference-Header-Content-Length': String(body[0].byteLength),
      },
      body,
      reads: false,
      signal,
      model: this.name,
    });
    if ('error' in answer) {
      // So that the next request is checked by what the model is now. Nobody waits for it.
      if (answer.error.code === 'INVALID_ARG') this.#describe().catch(() => undefined);
      throw answer.error;
    }
    const size = answer.headers['inference-header-content-length'];
    return version.read(answer.body, typeof size === 'string' ? Number(size) : undefined, options);
  }

  #sendItem(inputs: Inputs, { request, ...rest }: CheckedOptions, waiter: Waiter<InferResult>): void {
    const { owner } = request;
    let signal: AbortSignal | undefined;
    if (owner !== undefined) {
      const own = this.#owned.get(owner) ?? new AbortController();
      this.#owned.set(owner, own);
      signal = own.signal;
    }
    const given = 'given' in rest ? (rest as Pick<RemoteOptions, 'given'>).given : {};
    this.#infer(inputs, { ...given, signal }).then(
      (result) => {
        // It has no timings, which map does not look at; its callers get a RemoteResult.
        waiter.resolve(result as InferResult);
      },
      (error: unknown) => {
        waiter.reject(error);
      },
    );
  }
}

/** An iterator over one result, which cancels it if it is left before. */
function once(result: Promise<RemoteResult>, cancel: () => void): AsyncIterableIterator<RemoteResult> {
  let asked = false;
  result.catch(() => undefined); // Whoever asks is told.
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      if (asked) return { done: true, value: undefined };
      asked = true;
      return { done: false, value: await result };
    },
    return() {
      cancel(); // What is answered is not touched by it.
      asked = true;
      return Promise.resolve({ done: true, value: undefined });
    },
  };
}
