/** A model in another process. */

import { abortSignalOf } from '../call-signal.js';
import type { ModelConfig } from '../config/index.js';
import type { Waiter } from '../dispatch/types.js';
import { TritonError } from '../errors.js';
import type { ModelMetadata, SequenceOptions } from '../index.js';
import { SharedOptions, type CheckedOptions } from '../server/requests/infer-options.js';
import type { Mappable } from '../server/map/map-entry.js';
import { mapModel } from '../server/map/map.js';
import type { InferResult, MapOptions } from '../api/results.js';
import { failedStream } from '../server/requests/stream-iterator.js';
import type { Inputs } from '../tensor/inputs.js';
import type { ModelName, Protocol, WireRequest } from './protocol.js';
import type { RemoteInputs } from './shared-memory.js';
import { RemoteStream } from './remote-stream.js';
import { checkRemoteOptions, type RemoteOptions } from './remote-options.js';
import { SequenceOfServer, type SendChecked } from './remote-sequence.js';
import { RemoteVersion, sequenceParameters } from './remote-version.js';
import type {
  RemoteInferOptions,
  RemoteMapOptions,
  RemoteModel,
  RemoteOutcome,
  RemoteResult,
  RemoteSequence,
  RemoteStatistics,
} from './types.js';

/** The default concurrency of `map`: the default number of connections. */
const defaultConcurrency = 64;

/** A checked request, and the description that it was checked against. */
interface Prepared {
  readonly version: RemoteVersion;
  readonly request: WireRequest;
}

/** See the head of this file. */
export class ModelOfServer implements RemoteModel {
  readonly name: string;
  readonly version: string | undefined;
  readonly #protocol: Protocol;
  readonly #model: ModelName;
  readonly #shared: SharedOptions;
  readonly #mappable: Mappable;
  /** The controllers that cancel the requests of each map. A map that has ended is collected with its own. */
  readonly #owned: WeakMap<object, AbortController> = new WeakMap();
  /**
   * The server's description of the model. It is fetched again after a refused request, because the model may
   * have changed.
   */
  #described: RemoteVersion | undefined;
  #describedAs = '';
  #describing: Promise<RemoteVersion> | undefined;

  constructor(protocol: Protocol, name: string, version: string | undefined) {
    this.#protocol = protocol;
    this.#model = { name, version };
    this.name = name;
    this.version = version;
    this.#shared = new SharedOptions(version !== undefined);
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
    return this.#protocol.modelReady(this.#model).then(({ ready }) => ready);
  }

  get metadata(): Promise<ModelMetadata> {
    return this.#protocol.metadata(this.#model);
  }

  get config(): Promise<ModelConfig> {
    return this.#protocol.config(this.#model);
  }

  async infer(inputs: RemoteInputs, options: RemoteInferOptions = {}): Promise<RemoteResult> {
    return this.#infer(inputs, this.#check(options).given);
  }

  stream(inputs: RemoteInputs, options: RemoteInferOptions = {}): AsyncIterableIterator<RemoteResult> {
    let checked: RemoteInferOptions;
    try {
      checked = this.#check(options).given;
      if (checked.into !== undefined) {
        const text = `model '${this.name}': stream does not take options.into`;
        throw new TritonError('INVALID_ARG', text, { model: this.name });
      }
    } catch (error) {
      return failedStream(error);
    }
    const stream = new RemoteStream(this.name, checked.signal);
    const ask = (prepared: Prepared): void => {
      this.#ask(stream, prepared, checked);
    };
    try {
      const prepared = this.#prepare(inputs, checked);
      if (prepared instanceof Promise)
        prepared.then(ask).catch((error: unknown) => {
          stream.iterator.reject(error);
        });
      else ask(prepared);
    } catch (error) {
      stream.iterator.reject(error);
    }
    return stream.iterator;
  }

  map(
    items: Iterable<Inputs> | AsyncIterable<Inputs>,
    options?: RemoteMapOptions & {
      readonly ordered?: true | undefined;
      readonly onError?: 'throw' | undefined;
      readonly withItem?: false | undefined;
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

  sequence(options?: SequenceOptions): RemoteSequence {
    const { name, version } = this;
    return new SequenceOfServer(
      { name, version, prepare: (inputs, own) => this.#prepareInSequence(inputs, own) },
      options,
    );
  }

  /** Checks a request of a sequence. Its flags are known when it is sent. */
  #prepareInSequence(inputs: RemoteInputs, options: RemoteInferOptions): SendChecked | Promise<SendChecked> {
    const own = this.#check(options).given;
    const send =
      ({ version, request }: Prepared): SendChecked =>
      (sequence) => {
        const parameters = [...request.parameters, ...sequenceParameters(sequence)];
        return this.#send({ version, request: { ...request, parameters } }, own);
      };
    const prepared = this.#prepare(inputs, own);
    return prepared instanceof Promise ? prepared.then(send) : send(prepared);
  }

  async statistics(): Promise<RemoteStatistics> {
    const all = await this.#protocol.statistics(this.name, this.version);
    const newest = all.at(-1);
    if (newest !== undefined) return newest;
    throw new TritonError('NOT_FOUND', `model '${this.name}' has no statistics`, { model: this.name });
  }

  /**
   * Checks that the server knows the model.
   *
   * @throws {@link TritonError} NOT_FOUND if the server does not know the model.
   */
  async checkKnown(): Promise<void> {
    if (this.#described !== undefined) return;
    const { ready, refusal } = await this.#protocol.modelReady(this.#model);
    if (ready) await this.#describe();
    else if (refusal !== undefined) throw refusal;
  }

  #check(options: unknown): RemoteOptions {
    return checkRemoteOptions(this.name, options, this.#shared);
  }

  /** Fetches the server's current description of the model. */
  #describe(): Promise<RemoteVersion> {
    this.#describing ??= this.#askAbout().finally(() => {
      this.#describing = undefined;
    });
    return this.#describing;
  }

  async #askAbout(): Promise<RemoteVersion> {
    const [metadata, config] = await Promise.all([
      this.metadata,
      // Plain KServe v2 has no configurations.
      this.config.catch(() => undefined),
    ]);
    const text = JSON.stringify([metadata, config]);
    // Keep the same object as long as the description does not change.
    if (this.#described === undefined || this.#describedAs !== text) {
      this.#described = new RemoteVersion(this.name, metadata, config);
      this.#describedAs = text;
    }
    return this.#described;
  }

  /** Checks a request against the model's description. If there is none yet, it is fetched first. */
  #prepare(inputs: RemoteInputs, options: RemoteInferOptions): Prepared | Promise<Prepared> {
    const check = (version: RemoteVersion): Prepared => ({
      version,
      request: version.check(inputs, options),
    });
    const known = this.#described;
    if (known === undefined) {
      const { calls } = this.#protocol;
      return calls.unlessCancelled(this.#describe(), options.signal, this.name).then(check);
    }
    try {
      return check(known);
    } catch (error) {
      // The model may have changed since.
      return this.#describe()
        .catch(() => known)
        .then((newest) => {
          if (newest === known) throw error;
          return check(newest);
        });
    }
  }

  async #infer(inputs: RemoteInputs, options: RemoteInferOptions): Promise<RemoteResult> {
    const prepared = this.#prepare(inputs, options);
    return this.#send(prepared instanceof Promise ? await prepared : prepared, options);
  }

  async #send({ version, request }: Prepared, options: RemoteInferOptions): Promise<RemoteResult> {
    if (version.decoupled) {
      const text = `model '${this.name}': its requests get any number of responses; ${this.#protocol.forDecoupled}`;
      throw new TritonError('UNSUPPORTED', text, { model: this.name });
    }
    try {
      const { signal, timeoutMs } = options;
      const answer = await this.#protocol.infer(this.#model, request, signal, timeoutMs);
      return version.read(answer, options);
    } catch (error) {
      this.#learn(error);
      throw error;
    }
  }

  /**
   * After a refused request, fetches the description again, so that the next request is checked against the
   * current model. Nobody waits for it.
   */
  #learn(error: unknown): void {
    if (error instanceof TritonError && error.code === 'INVALID_ARG') this.#describe().catch(() => undefined);
  }

  /** Sends a request whose responses arrive one by one. */
  #ask(stream: RemoteStream, prepared: Prepared, options: RemoteInferOptions): void {
    const { version, request } = prepared;
    if (!version.decoupled) {
      stream.answered(this.#send(prepared, { ...options, signal: stream.signal }));
      return;
    }
    stream.open(
      (sink) => this.#protocol.stream(this.#model, request, options.signal, sink),
      (answer) => version.read(answer, options),
      (error) => {
        this.#learn(error);
      },
    );
  }

  #sendItem(inputs: Inputs, { request, ...rest }: CheckedOptions, waiter: Waiter<InferResult>): void {
    const { owner } = request;
    let signal = request.signal && abortSignalOf(request.signal);
    if (owner !== undefined) {
      const own = this.#owned.get(owner) ?? new AbortController();
      this.#owned.set(owner, own);
      signal = signal === undefined ? own.signal : AbortSignal.any([signal, own.signal]);
    }
    const given = 'given' in rest ? (rest as Pick<RemoteOptions, 'given'>).given : {};
    this.#infer(inputs, { ...given, signal }).then(
      (result) => {
        // The result has no timings, which map does not read; its callers get a RemoteResult.
        waiter.resolve(result as InferResult);
      },
      (error: unknown) => {
        waiter.reject(error);
      },
    );
  }
}
