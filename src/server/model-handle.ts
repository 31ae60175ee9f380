/** A model's handle: `infer`, `map`, and what the model tells of itself. */

import type { NativeServer } from '../addon/native.js';
import type { ModelConfig } from '../config/index.js';
import { framesBelow } from '../dispatch/errors.js';
import type { EntryPoint, Origin, Waiter } from '../dispatch/types.js';
import { TritonError } from '../errors.js';
import type { Inputs } from '../tensor/inputs.js';
import { ClassifyingWaiter } from './classifying-waiter.js';
import { checkInferOptions, noOptions, type CheckedOptions } from './infer-options.js';
import { mapModel } from './map.js';
import type { ModelMetadata, ModelStatistics, RuntimeInfo } from './metadata.js';
import type { ModelTable } from './model-table.js';
import type { ReadyVersion } from './ready-version.js';
import type { InferOptions, InferResult, MapOptions } from './results.js';
import { makePromise, takeSettler } from './settler.js';
import { statisticsOf } from './statistics.js';

/**
 * A model by name, not a loaded thing: each request takes the newest ready version that the model's policy allows, or
 * the version it is pinned to; it survives reloads. Get one from {@link InferenceServer.model}.
 */
export class ModelHandle {
  /** The model's name. */
  readonly name: string;
  /** The version it is pinned to; undefined: the newest ready one, chosen for each request. */
  readonly version: string | undefined;
  readonly #table: ModelTable;
  readonly #server: NativeServer;
  /** Those of requests without any. */
  readonly #noOptions: CheckedOptions;
  #ready: ReadyVersion | undefined;
  #epoch = -1;

  /** @internal */
  constructor(server: NativeServer, table: ModelTable, name: string, version: string | undefined) {
    this.name = name;
    this.version = version;
    this.#server = server;
    this.#table = table;
    this.#noOptions = noOptions(version !== undefined);
  }

  /** Whether a request would be taken now. Triton: `TRITONSERVER_ServerModelIsReady`. */
  get ready(): boolean {
    try {
      this.#current();
      return true;
    } catch {
      return false;
    }
  }

  /**
   * Names, datatypes and shapes of inputs and outputs. Triton: model metadata.
   *
   * @throws {TritonError} NOT_FOUND or UNAVAILABLE when no version is ready.
   */
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

  /**
   * The complete configuration, with Triton's field names; frozen.
   *
   * @throws {TritonError} NOT_FOUND or UNAVAILABLE when no version is ready.
   */
  get config(): ModelConfig {
    return this.#current().config;
  }

  /**
   * Which fields of the config are hints without effect here, and what was filled in.
   *
   * @throws {TritonError} NOT_FOUND or UNAVAILABLE when no version is ready.
   */
  get notes(): readonly string[] {
    return this.#current().notes;
  }

  /**
   * Runs the model.
   *
   * @param inputs - By name; see {@link TensorInput} for what each may be. Copied before this returns.
   * @returns The outputs. Rejects (it never throws) with a `TritonError`: INVALID_ARG for inputs that do not fit,
   *   NOT_FOUND for an unloaded model, UNAVAILABLE for a failed model, a closed server or too much in flight, CANCELLED,
   *   INTERNAL when the runtime failed.
   *
   * @example
   * const { outputs } = await model.infer({ image: pixels });       // a Float32Array of one or several images
   * const scores = outputs.scores?.as('FP32').data;                 // a Float32Array
   */
  infer(inputs: Inputs, options?: InferOptions): Promise<InferResult> {
    return this.inferFor(entry.infer, inputs, options);
  }

  /**
   * {@link infer}, called by `origin`.
   *
   * @internal
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

  /**
   * Runs the model on every item of a data set, several at a time, and yields the results in order.
   *
   * It reads no further ahead than `concurrency` items, waits while the server has too much in flight, stops at the
   * first error, and cancels what is in flight when its consumer stops.
   *
   * @example
   * for await (const { outputs } of model.map(items)) console.log(outputs.scores?.toArray());
   */
  map(
    items: Iterable<Inputs> | AsyncIterable<Inputs>,
    options: MapOptions = {},
  ): AsyncIterableIterator<InferResult> {
    const { dispatcher } = this.#table;
    return mapModel(this, items, options, dispatcher.captureStacks ? framesBelow(entry.map) : '');
  }

  /**
   * What the model did so far. Triton: `TRITONSERVER_ServerModelStatistics`.
   *
   * @throws {TritonError} NOT_FOUND or UNAVAILABLE when no version is ready.
   */
  statistics(): ModelStatistics {
    const ready = this.#current();
    return statisticsOf(ready, this.#server.statistics(ready.uid));
  }

  /**
   * How the model is run: library, instances, threads.
   *
   * @throws {TritonError} NOT_FOUND or UNAVAILABLE when no version is ready.
   */
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
   * @internal
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
   * @internal
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
   * @internal
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
