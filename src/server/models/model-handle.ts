/** A model's handle: `infer`, `stream`, `map`, and what the model reports about itself. */

import type { NativeServer } from '../../addon/native/server.js';
import type { ModelConfig } from '../../config/index.js';
import { framesBelow } from '../../dispatch/errors/request-errors.js';
import type { LoadQueue } from '../../dispatch/requests/awaited-loads.js';
import { isStreamWaiter, type StreamWaiter, type ToldStream } from '../../dispatch/responses/streams.js';
import type { DispatchRequest, EntryPoint, Origin, SequenceMark, Waiter } from '../../dispatch/types.js';
import { invalidArgument, TritonError } from '../../errors.js';
import type { ModelKey } from '../../model-key.js';
import { runningVersion } from '../../javascript/versions/versions.js';
import type { Inputs } from '../../tensor/inputs.js';
import { anyMapped, rangeOf } from '../../tensor/region-arrays.js';
import type { RegionRange } from '../../tensor/region-tensor.js';
import type { TypedArray } from '../../tensor/types.js';
import { ClassifyingStream, ClassifyingWaiter } from '../requests/classifying-waiter.js';
import { checkInferOptions, SharedOptions, traced, type CheckedOptions } from '../requests/infer-options.js';
import type { Yielded } from '../map/map-entry.js';
import { mapModel } from '../map/map.js';
import type { ModelMetadata, ModelStatistics, RuntimeInfo } from '../../api/metadata.js';
import type { AwaitedModel } from '../lazy/lazy-loads.js';
import { hasFailed, mayBeNewer } from '../lazy/sleeping.js';
import { holdRequest } from '../lazy/hold-request.js';
import type { ModelTable } from './model-table.js';
import type { ReadyVersion } from './ready-version.js';
import { RequestObserver, requestsObserved, StreamObserver } from '../requests/request-channels.js';
import type { Model } from '../../api/model.js';
import type { Sequence, SequenceOptions } from '../../api/sequence.js';
import { withId } from '../requests/request-attributes.js';
import type { InferOptions, InferResult, MapOptions, MapOutcome, MapResult } from '../../api/results.js';
import { inRegions, type Ranges } from '../requests/in-regions.js';
import { makePromise, takeSettler } from '../requests/settler.js';
import { parentContext, RequestTrace, TracedStream, TracedWaiter } from '../trace/request-trace.js';
import type { TraceState } from '../trace/trace-state.js';
import { withCaller } from '../requests/with-caller.js';
import { ModelSequence } from '../sequences/model-sequence.js';
import type { Explanation } from '../../api/explanation.js';
import type { Explainer } from '../reports/explainer.js';
import { statisticsOf } from '../reports/statistics.js';
import { StreamIterator } from '../requests/stream-iterator.js';
import { keptOutputs, type WantedOutputs } from '../requests/wanted-outputs.js';

/** How many items `map` has in flight if it is not known how many keep the model busy. */
const unknownConcurrency = 64;

/** When a model's threads spin. A runtime that does not tell it has threads that sleep, or threads of its own making. */
function spinningOf(told: string | undefined): RuntimeInfo['spinning'] {
  return told === 'always' || told === 'within runs' ? told : 'off';
}

/** The only implementation of {@link Model}. */
export class ModelHandle implements Model {
  /** The model that the name meant when the handle was asked for. */
  readonly key: ModelKey;
  readonly name: string;
  readonly version: string | undefined;
  readonly #table: ModelTable;
  readonly #server: NativeServer;
  readonly #explainer: Explainer;
  readonly #sharedOptions: SharedOptions;
  readonly #caller: (() => number) | undefined;
  readonly #traces: TraceState;
  /** How many of the next requests are not traced, as the engine has said while {@link TraceState.word} was the same. */
  #untraced = 0;
  #untracedWord = 0;
  /** The request of all that only choose the outputs that were chosen last. */
  #lastWanting: { readonly wanted: WantedOutputs; readonly request: DispatchRequest } | undefined;
  #ready: ReadyVersion | undefined;
  #epoch = -1;
  /** The requests that wait for the load of a lazy model; undefined: there were none yet. */
  #waiting: LoadQueue | undefined;

  constructor(
    server: NativeServer,
    table: ModelTable,
    explainer: Explainer,
    key: ModelKey,
    version: string | undefined,
  ) {
    this.key = key;
    this.name = key.name;
    this.version = version;
    this.#server = server;
    this.#table = table;
    this.#explainer = explainer;
    this.#sharedOptions = new SharedOptions(version !== undefined, table.connection);
    this.#caller = table.caller;
    this.#traces = table.traces;
  }

  get ready(): boolean {
    try {
      return this.#awakeVersion() !== undefined || this.#isReadyAsleep();
    } catch {
      return false;
    }
  }

  /** Whether a lazy model that is not loaded counts as ready, so that clients which ask first send their request. */
  #isReadyAsleep(): boolean {
    const entry = this.#table.entry(this.key);
    if (entry === undefined || hasFailed(entry.published)) return false;
    const { sleeping } = entry;
    const { version } = this;
    // Which versions there are is known once it was loaded. A newer one may have come since.
    return (
      version === undefined ||
      mayBeNewer(version, sleeping) ||
      sleeping.some((one) => one.version === version)
    );
  }

  async checkReady(): Promise<boolean> {
    if (!this.ready) return false;
    const uid = this.#awakeVersion()?.uid;
    if (uid === undefined) return true;
    return (await runningVersion(this.#server, uid)?.isReady?.()) ?? true;
  }

  get metadata(): ModelMetadata {
    const ready = this.#described();
    const entry = this.#table.entry(this.key);
    const served = entry?.sleeps === true ? entry.sleeping : entry?.ready;
    const versions =
      this.version === undefined ? (served ?? []).map(({ version }) => version).reverse() : [ready.version];
    return {
      name: this.name,
      versions,
      platform: ready.config.platform === '' ? ready.config.backend : ready.config.platform,
      inputs: ready.inputs,
      outputs: ready.outputs,
    };
  }

  /** The template of the model's chats; undefined if it has none. */
  get chatTemplate(): ReadyVersion['chatTemplate'] {
    return this.#described().chatTemplate;
  }

  get config(): ModelConfig {
    return this.#described().config;
  }

  get notes(): readonly string[] {
    return this.#described().notes;
  }

  infer(inputs: Inputs, options?: InferOptions): Promise<InferResult> {
    return this.inferFor(entry.infer, inputs, options);
  }

  /** {@link infer} on behalf of the public function `origin`. */
  inferFor(
    origin: EntryPoint,
    inputs: Inputs,
    options: InferOptions | null | undefined,
  ): Promise<InferResult> {
    const promise = makePromise();
    const settler = takeSettler();
    try {
      const checked = options === undefined || options === null ? this.#unsaid() : this.check(options);
      this.sendChecked(inputs, checked, settler, origin);
    } catch (error) {
      settler.reject(withCaller(error, origin));
    }
    return promise;
  }

  sequence(options?: SequenceOptions): Sequence {
    return new ModelSequence(this, options);
  }

  stream(inputs: Inputs, options?: InferOptions): AsyncIterableIterator<InferResult> {
    return this.streamFor(entry.stream, inputs, options);
  }

  /** {@link stream} on behalf of the public function `origin`. */
  streamFor(
    origin: EntryPoint,
    inputs: Inputs,
    options: InferOptions | null | undefined,
  ): AsyncIterableIterator<InferResult> {
    const iterator = new StreamIterator(this.name);
    try {
      this.#begin(
        iterator,
        inputs,
        options === undefined || options === null ? this.#unsaid() : this.check(options),
        origin,
      );
    } catch (error) {
      iterator.reject(withCaller(error, origin));
    }
    return iterator;
  }

  /**
   * {@link stream} with checked options, for endpoints.
   *
   * @throws {@link TritonError} Whatever is wrong with the request, which the iterator of {@link stream} throws.
   */
  openStream(inputs: Inputs, checked: CheckedOptions): AsyncIterableIterator<InferResult> {
    const iterator = new StreamIterator(this.name);
    this.#begin(iterator, inputs, checked, '');
    return iterator;
  }

  #begin(iterator: StreamIterator, inputs: Inputs, checked: CheckedOptions, origin: Origin): void {
    if (checked.into !== undefined) {
      throw invalidArgument(
        `model '${this.name}': options.into cannot be used with a stream, because each result would overwrite the one before; copy the outputs' data instead`,
        { model: this.name },
      );
    }
    iterator.sent(this.#sendStream(inputs, checked, iterator, origin), checked.request.signal);
  }

  map(
    items: Iterable<Inputs> | AsyncIterable<Inputs>,
    options?: MapOptions & {
      readonly ordered?: true | undefined;
      readonly onError?: 'throw' | undefined;
      readonly withItem?: false | undefined;
    },
  ): AsyncIterableIterator<InferResult>;
  map(
    items: Iterable<Inputs> | AsyncIterable<Inputs>,
    options: MapOptions & { readonly onError?: 'throw' | undefined; readonly withItem: true },
  ): AsyncIterableIterator<MapResult & { readonly item: Inputs }>;
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
    if (this.#isDecoupled) {
      throw new TritonError(
        'UNSUPPORTED',
        `model '${this.name}': its requests get any number of responses, which map does not take; call stream for each item`,
        { model: this.name },
      );
    }
    const { connection } = this.#table;
    return mapModel(this, items, options, connection.captureStacks ? framesBelow(entry.map) : '');
  }

  statistics(): ModelStatistics {
    const ready = this.#current();
    return statisticsOf(this.key, ready.version, this.#server.statistics(ready.uid));
  }

  explain(): Explanation {
    return this.#explainer.explain(this.key, this.version);
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
      spinning: spinningOf(info['spinning']),
      neverInline: info['never_inline'],
    };
  }

  /**
   * As {@link infer}, with a waiter instead of a promise, and with checked options.
   *
   * @throws {@link TritonError} Any code of {@link infer}, for a request that cannot be sent. It also
   *   throws what the caller's getters throw. The waiter is not called then.
   */
  sendChecked(inputs: Inputs, options: CheckedOptions, waiter: Waiter<InferResult>, origin: Origin): void {
    if (requestsObserved() || (this.#traces.isOn && this.#asks(options))) {
      if (this.#mustWait) this.#hold(inputs, options, waiter, origin);
      else this.#sendObserved(inputs, options, waiter, origin);
      return;
    }
    const ready = this.#awakeVersion();
    if (ready === undefined) {
      this.#hold(inputs, options, waiter, origin);
      return;
    }
    // Most requests. The rest of #send would make this too long for V8 to inline.
    if (ready.isPlain && options.into === undefined && (!ready.takesIds || options.request.id === '')) {
      const request = options.outputs === undefined ? options.request : this.#requestWanting(ready, options);
      if (request !== undefined) {
        ready.send(this.#table.connection, inputs, request, waiter, origin);
        return;
      }
    }
    this.#send(inputs, options, waiter, origin);
  }

  /** The request for options that choose the outputs that were chosen last, and nothing else; undefined for all others. */
  #requestWanting(ready: ReadyVersion, options: CheckedOptions): DispatchRequest | undefined {
    if (options.request !== this.#sharedOptions.none.request) return undefined;
    const wanted = ready.wantedBefore(options.outputs);
    return wanted && this.#onlyWanting(wanted);
  }

  #sendObserved(inputs: Inputs, options: CheckedOptions, waiter: Waiter<InferResult>, origin: Origin): void {
    if (!requestsObserved()) {
      this.#sendTraced(inputs, options, waiter, origin);
      return;
    }
    const observer = new RequestObserver(this.name, this.version, options.request.id, waiter);
    try {
      this.#sendTraced(inputs, options, observer, origin);
    } catch (error) {
      observer.refused(error);
      throw error;
    }
  }

  /** Whether a request asks for its trace. The engine itself chooses requests for files, but does not know their ids. */
  #asks({ request, traceKnown }: CheckedOptions): boolean {
    return (this.#traces.spans || request.id !== '') && traceKnown !== true;
  }

  /** {@link #send} with a trace, if the request asks for it. */
  #sendTraced(
    inputs: Inputs,
    options: CheckedOptions,
    waiter: Waiter<InferResult>,
    origin: Origin,
  ): ToldStream | undefined {
    const { id } = options.request;
    if (!this.#traces.isOn || !this.#asks(options)) return this.#send(inputs, options, waiter, origin);
    const context = this.#traces.spans ? parentContext() : '';
    const trace = context === undefined ? undefined : this.startTrace(context, id);
    if (trace === undefined) return this.#send(inputs, options, waiter, origin);
    const done = isStreamWaiter(waiter) ? new TracedStream(trace, waiter) : new TracedWaiter(trace, waiter);
    try {
      return this.#send(inputs, traced(options, trace.id), done, origin);
    } catch (error) {
      trace.end();
      throw error;
    }
  }

  /**
   * Asks whether the next request is traced, and begins its trace; undefined: it is not.
   *
   * @param context - The parent, as `NativeTracing.sampleTrace` takes it.
   * @param requestId - Empty: the request has none.
   */
  startTrace(context: string, requestId: string): RequestTrace | undefined {
    const { word } = this.#traces;
    if (context === '' && this.#untraced > 0 && this.#untracedWord === word) {
      this.#untraced--;
      return undefined;
    }
    const id = this.#server.sampleTrace(this.name, context, requestId);
    if (id > 0) return new RequestTrace(this.#server, id);
    this.#untraced = -id;
    this.#untracedWord = word;
    return undefined;
  }

  #sendStream(
    inputs: Inputs,
    options: CheckedOptions,
    waiter: StreamWaiter<InferResult>,
    origin: Origin,
  ): ToldStream | undefined {
    if (this.#mustWait) return this.#hold(inputs, options, waiter, origin);
    if (!requestsObserved()) return this.#sendTraced(inputs, options, waiter, origin);
    const observer = new StreamObserver(this.name, this.version, options.request.id, waiter);
    try {
      return this.#sendTraced(inputs, options, observer, origin);
    } catch (error) {
      observer.refused(error);
      throw error;
    }
  }

  /** Whether the model is still, or again, to be loaded. */
  get #sleeps(): boolean {
    return this.#table.entry(this.key)?.sleeps === true;
  }

  /**
   * Has a lazy model loaded. Undefined: it is loaded, or no request would have it loaded.
   *
   * @param bytes - As for {@link LazyLoads.awaitModel}.
   */
  awake(bytes: number | undefined): AwaitedModel | undefined {
    // Each request of an endpoint asks, so what is known of this tick is not read again.
    return this.#mustWait ? this.#table.lazy.awaitModel(this.key, bytes) : undefined;
  }

  /** Keeps a request until the model is loaded. */
  #hold(inputs: Inputs, options: CheckedOptions, waiter: Waiter<InferResult>, origin: Origin): ToldStream {
    const { key } = this;
    const { lazy, connection } = this.#table;
    // While any of them wait, the version that serves is not kept, so that no request overtakes them.
    this.#ready = undefined;
    this.#waiting ??= connection.awaited.queue({
      name: key.name,
      load: () => (this.#sleeps ? lazy.wake(key) : undefined),
    });
    const later = { ...options, outputs: keptOutputs(options.outputs) };
    return holdRequest({ key, lazy, connection, queue: this.#waiting }, inputs, later, waiter, (kept) => {
      if (!isStreamWaiter(waiter)) {
        this.sendChecked(kept, later, waiter, origin);
        return;
      }
      const sent = this.#sendStream(kept, later, waiter, origin);
      if (sent !== undefined) waiter.moved(sent);
    });
  }

  /** Returns the request of a waiter that takes any number of responses. */
  #send(
    inputs: Inputs,
    options: CheckedOptions,
    waiter: Waiter<InferResult>,
    origin: Origin,
  ): ToldStream | undefined {
    const ready = this.#awakeVersion();
    // It was unloaded since it was looked at.
    if (ready === undefined) return this.#hold(inputs, options, waiter, origin);
    const isStream = isStreamWaiter(waiter);
    if (ready.decoupled && !isStream) {
      throw new TritonError(
        'UNSUPPORTED',
        `model '${this.name}': its requests get any number of responses; call stream instead of infer`,
        { model: this.name },
      );
    }
    let { request } = options;
    let done = waiter;
    let targets: Ranges | undefined;
    if (ready.takesIds && request.id !== '') {
      request = { ...request, attributes: withId(request.attributes, request.id) };
    }
    if (options.outputs !== undefined || options.into !== undefined) {
      const wanted = ready.wanted(options.outputs);
      if (request === this.#sharedOptions.none.request && options.into === undefined) {
        request = this.#onlyWanting(wanted);
      } else {
        const into = options.into && ready.intoOf(options.into, wanted);
        targets = this.#targetsOf(ready, into, options.targets);
        request = { ...request, wanted: wanted.indices, into };
      }
      if (wanted.classes.length > 0) {
        done = isStream
          ? new ClassifyingStream(ready, wanted, waiter, request.signal)
          : new ClassifyingWaiter(ready, wanted, waiter, request.signal);
      }
    }
    // The encoded inputs must be copied before any code of the caller runs again, so nothing may come in
    // between.
    const { connection } = this.#table;
    const encoded = ready.encode(inputs);
    request = inRegions(request, encoded, connection, targets);
    const group = connection.send(ready, encoded, request, done, origin);
    return isStream ? connection.sentStream(group, done) : undefined;
  }

  /** Where outputs go that go to regions: those that the options say, and arrays that are in regions. */
  #targetsOf(
    ready: ReadyVersion,
    into: readonly TypedArray[] | undefined,
    named: ReadonlyMap<string, RegionRange> | undefined,
  ): Ranges | undefined {
    let targets: Ranges | undefined;
    if (into !== undefined && anyMapped()) {
      for (const [index, array] of into.entries()) {
        const range = (array as TypedArray | undefined) && rangeOf(array, this.#table.connection);
        if (range !== undefined) (targets ??= [])[index] = range;
      }
    }
    for (const [name, range] of named ?? []) {
      (targets ??= [])[ready.outputs.findIndex((output) => output.name === name)] = range;
    }
    return targets;
  }

  /** Whether requests have an input in place in a region of a GPU. False for a name that is no input. */
  readsRegion(input: string, { region, offset }: RegionRange): boolean {
    const { uid, inputs } = this.#current();
    const index = inputs.findIndex(({ name }) => name === input);
    return index >= 0 && this.#server.readsRegion(uid, index, region, offset);
  }

  /** Whether the engine copies outputs to a region of a GPU without the host. */
  writesRegion({ region }: RegionRange): boolean {
    return this.#server.writesRegion(this.#current().uid, region);
  }

  /** Cancels the requests in flight that were sent for `owner`. They reject soon. */
  cancelAll(owner: object): void {
    this.#table.connection.cancelAll(owner);
  }

  /** How many items fill two batches of every instance, which keeps all instances busy. */
  get defaultConcurrency(): number {
    if (this.#awakeVersion() === undefined && this.#table.entry(this.key)?.sleeping.length === 0)
      return unknownConcurrency;
    const { config, instances } = this.#described();
    return 2 * Math.max(1, config.max_batch_size) * Math.max(1, instances.length);
  }

  get #isDecoupled(): boolean {
    try {
      return this.#described().decoupled;
    } catch {
      return false; // The iterator tells what is wrong.
    }
  }

  #onlyWanting(wanted: WantedOutputs): DispatchRequest {
    if (this.#lastWanting?.wanted !== wanted) {
      this.#lastWanting = {
        wanted,
        request: { ...this.#sharedOptions.none.request, wanted: wanted.indices },
      };
    }
    return this.#lastWanting.request;
  }

  #current(): ReadyVersion {
    const ready = this.#ready;
    return ready && this.#table.connection.tickEpoch === this.#epoch ? ready : this.#resolve();
  }

  #resolve(): ReadyVersion {
    return this.#resolveAwake() ?? this.#table.resolve(this.key, this.version);
  }

  /** The version that serves now; undefined if requests have to wait for the load of a lazy model. */
  #awakeVersion(): ReadyVersion | undefined {
    const ready = this.#ready;
    return ready && this.#table.connection.tickEpoch === this.#epoch ? ready : this.#resolveAwake();
  }

  /** Whether a request has to wait for a load. False for one that is going to be refused. */
  get #mustWait(): boolean {
    try {
      return this.#awakeVersion() === undefined;
    } catch {
      return false;
    }
  }

  #resolveAwake(): ReadyVersion | undefined {
    const { epoch } = this.#table.connection;
    if (this.#ready && epoch === this.#epoch) return this.#ready;
    this.#ready = undefined;
    if (this.#waiting?.any === true) return undefined;
    this.#ready = this.#table.resolveAwake(this.key, this.version);
    this.#epoch = epoch;
    return this.#ready;
  }

  /** The version that tells of the model; see {@link ModelTable.describe}. */
  #described(): ReadyVersion {
    return this.#awakeVersion() ?? this.#table.describe(this.key, this.version);
  }

  /**
   * Checks whatever does not depend on the version.
   *
   * @throws {@link TritonError} INVALID_ARG for unknown keys and wrong values.
   */
  check(options: InferOptions): CheckedOptions {
    return checkInferOptions(this.name, options, this.#sharedOptions, this.#caller);
  }

  checkMarked(options: InferOptions | undefined, mark: SequenceMark): CheckedOptions {
    return checkInferOptions(this.name, options ?? {}, this.#sharedOptions, this.#caller, mark);
  }

  get isConstant(): boolean {
    return this.#caller === undefined;
  }

  /** The options of a request without any. */
  #unsaid(): CheckedOptions {
    return this.#caller === undefined ? this.#sharedOptions.none : this.check({});
  }
}

/** The functions that callers call. Frames above theirs are cut from stacks. */
/* eslint-disable @typescript-eslint/unbound-method -- never called from here */
const entry = {
  infer: ModelHandle.prototype.infer,
  stream: ModelHandle.prototype.stream,
  map: ModelHandle.prototype.map,
};
/* eslint-enable @typescript-eslint/unbound-method */
