/** A model's handle: `infer`, `map`, and what the model tells of itself. */

import type { NativeServer } from '../addon/native.js';
import type { ModelConfig } from '../config/index.js';
import { framesBelow } from '../dispatch/errors.js';
import type { EntryPoint, Origin, Waiter } from '../dispatch/types.js';
import { TritonError } from '../errors.js';
import type { Inputs } from '../tensor/inputs.js';
import { ClassifyingWaiter } from './classifying-waiter.js';
import { checkInferOptions, noOptions, type CheckedOptions } from './infer-options.js';
import type { Yielded } from './map-entry.js';
import { mapModel } from './map.js';
import type { ModelMetadata, ModelStatistics, RuntimeInfo } from './metadata.js';
import type { ModelTable } from './model-table.js';
import type { ReadyVersion } from './ready-version.js';
import type { Model } from './model.js';
import type { InferOptions, InferResult, MapOptions, MapOutcome, MapResult } from './results.js';
import { makePromise, takeSettler } from './settler.js';
import { statisticsOf } from './statistics.js';

/** The one implementation of {@link Model}. */
export class ModelHandle implements Model {
  readonly name: string;
  readonly version: string | undefined;
  readonly #table: ModelTable;
  readonly #server: NativeServer;
  /** Those of requests without any. */
  readonly #noOptions: CheckedOptions;
  #ready: ReadyVersion | undefined;
  #epoch = -1;

  constructor(server: NativeServer, table: ModelTable, name: string, version: string | undefined) {
    this.name = name;
    this.version = version;
    this.#server = server;
    this.#table = table;
    this.#noOptions = noOptions(version !== undefined);
  }

  get ready(): boolean {
    try {
      this.#current();
      return true;
    } catch {
      return false;
    }
  }

  get metadata(): ModelMetadata {
    const ready = this.#current();
    const versions =
      this.version === undefined
        ? (this.#table.entry(this.name)?.ready ?? []).map(({ version }) => version).reverse()
        : [ready.version];
    return {
      name: this.name,
      versions,
      platform: ready.config.platform === '' ? ready.config.backend : ready.config.platform,
      inputs: ready.inputs,
      outputs: ready.outputs,
    };
  }

  get config(): ModelConfig {
    return this.#current().config;
  }

  get notes(): readonly string[] {
    return this.#current().notes;
  }

  infer(inputs: Inputs, options?: InferOptions): Promise<InferResult> {
    return this.inferFor(entry.infer, inputs, options);
  }

  /**
   * {@link infer}, called by `origin`.
   *
   */
  inferFor(origin: EntryPoint, inputs: Inputs, options: InferOptions | undefined): Promise<InferResult> {
    const promise = makePromise();
    const settler = takeSettler();
    try {
      const checked = options === undefined ? this.#noOptions : this.check(options);
      this.sendChecked(inputs, checked, settler, origin);
    } catch (error) {
      settler.reject(withCaller(error, origin));
    }
    return promise;
  }

  map(
    items: Iterable<Inputs> | AsyncIterable<Inputs>,
    options?: MapOptions & { readonly ordered?: true | undefined; readonly onError?: 'throw' | undefined },
  ): AsyncIterableIterator<InferResult>;
  map(
    items: Iterable<Inputs> | AsyncIterable<Inputs>,
    options: MapOptions & { readonly ordered: false; readonly onError?: 'throw' | undefined },
  ): AsyncIterableIterator<MapResult>;
  map(
    items: Iterable<Inputs> | AsyncIterable<Inputs>,
    options: MapOptions & { readonly onError: 'yield' },
  ): AsyncIterableIterator<MapOutcome>;
  map(items: Iterable<Inputs> | AsyncIterable<Inputs>, options: MapOptions): AsyncIterableIterator<Yielded>;
  map(
    items: Iterable<Inputs> | AsyncIterable<Inputs>,
    options: MapOptions = {},
  ): AsyncIterableIterator<Yielded> {
    const { dispatcher } = this.#table;
    return mapModel(this, items, options, dispatcher.captureStacks ? framesBelow(entry.map) : '');
  }

  statistics(): ModelStatistics {
    const ready = this.#current();
    return statisticsOf(ready, this.#server.statistics(ready.uid));
  }

  runtimeInfo(): RuntimeInfo {
    const ready = this.#current();
    const info = this.#server.info(ready.uid) ?? {};
    return {
      library:
        info['library'] === undefined ? undefined : { path: info['library'], version: info['version'] ?? '' },
      instances: ready.instances,
      intraOpThreads: Number(info['intra_op_threads'] ?? 0),
      sharedPool: info['shared_pool'] === '1',
      spinning: info['spinning'] === '1',
      neverInline: info['never_inline'],
    };
  }

  /**
   * As {@link infer}, with a waiter instead of a promise, and options that were checked before.
   *
   * @throws What keeps the request from being sent, the caller's own getters' errors among it; then the waiter is not
   *   called.
   */
  sendChecked(inputs: Inputs, options: CheckedOptions, waiter: Waiter<InferResult>, origin: Origin): void {
    const ready = this.#current();
    let { request } = options;
    let done = waiter;
    if (options.outputs !== undefined || options.into !== undefined) {
      const wanted = ready.wanted(options.outputs);
      const into = options.into && ready.intoOf(options.into, wanted);
      const { id, signal, owner, ownOutputs, pinned } = request;
      request = { id, wanted: wanted.indices, signal, owner, ownOutputs, into, pinned };
      if (wanted.classes.length > 0) done = new ClassifyingWaiter(ready, wanted, waiter);
    }
    // What this returns must be copied before any code of the caller runs again: nothing comes between.
    this.#table.dispatcher.send(ready, ready.encode(inputs), request, done, origin);
  }

  /**
   * Cancels the requests in flight that were sent for `owner`; they reject soon.
   *
   */
  cancelAll(owner: object): void {
    this.#table.dispatcher.cancelAll(owner);
  }

  /** Items that fill two batches of every instance: what keeps a data set going. */
  get defaultConcurrency(): number {
    const { config, instances } = this.#current();
    return 2 * Math.max(1, config.max_batch_size) * Math.max(1, instances.length);
  }

  #current(): ReadyVersion {
    const { epoch } = this.#table.dispatcher;
    if (this.#ready && epoch === this.#epoch) return this.#ready;
    this.#ready = undefined;
    this.#ready = this.#table.resolve(this.name, this.version);
    this.#epoch = epoch;
    return this.#ready;
  }

  /**
   * What can be said of options whatever the version.
   *
   * @throws {TritonError} INVALID_ARG.
   */
  check(options: InferOptions): CheckedOptions {
    return checkInferOptions(this.name, options, this.#noOptions);
  }
}

/** What callers call: their frames are below these in a stack. */
/* eslint-disable @typescript-eslint/unbound-method -- never called from here */
const entry = { infer: ModelHandle.prototype.infer, map: ModelHandle.prototype.map };
/* eslint-enable @typescript-eslint/unbound-method */

/** An error of ours with the caller's line: the frames above that are ours, and so many that it would not be kept. */
function withCaller(error: unknown, origin: EntryPoint): unknown {
  try {
    if (error instanceof TritonError) Error.captureStackTrace(error, origin);
  } catch {
    // The caller's own getter threw it, and it is frozen.
  }
  return error;
}
