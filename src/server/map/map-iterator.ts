/**
 * The iterator behind `Model.map`. It is written by hand, because an async generator costs half of the
 * throughput.
 *
 *     source -> items in flight -> entries to hand out -> waiters, the calls of next()
 *
 * In input order, an item is an entry from the moment it is taken, and the first entry goes to the first
 * waiter when it is done. Unordered, it becomes an entry when it is done. At most `concurrency` items are
 * held at a time. Entries are used again, so an item costs only its request, its result and a promise.
 */

import { isLimit } from '../../dispatch/errors/request-errors.js';
import { withDeadline } from '../../dispatch/ending/deadlines.js';
import { TritonError } from '../../errors.js';
import { Queue } from '../../queue.js';
import type { Inputs } from '../../tensor/inputs.js';
import type { CheckedOptions } from '../requests/infer-options.js';
import { itemError, noInputs, withIndex, type Entry, type Mappable, type Yielded } from './map-entry.js';
import { ItemSource, type ItemConsumer } from './map-source.js';
import type { MapOptions } from '../../api/results.js';
import { clearTimeout, setTimeout } from '../../timers.js';

type Next = IteratorResult<Yielded, undefined>;

/** A call of next() that is not answered yet. */
interface Waiter {
  readonly resolve: (next: Next) => void;
  readonly reject: (error: unknown) => void;
}

/** The most items that are taken from the source in one go, while all goes well. */
const mostAtOnce = 128;

/** How many refused items are sent again when one has ended: so it returns to its former number when there is room. */
const mostForOne = 2;

/** How long to wait before a retry if only other callers have requests in flight, in milliseconds. */
const retryMs = 1;

/** See the head of this file. */
export class MapIterator implements AsyncIterableIterator<Yielded>, ItemConsumer {
  readonly #model: Mappable;
  readonly #concurrency: number;
  readonly #ordered: boolean;
  readonly #yieldsErrors: boolean;
  /**
   * The source is asked for more when at most this many items are held, so that several can be taken at once.
   */
  readonly #refillAt: number;
  /** Stack frames of the code that called `map`; only with `captureStacks`. */
  readonly #origin: string;
  readonly #options: CheckedOptions;
  readonly #source: ItemSource;
  readonly #timeoutMs: number | undefined;
  readonly #withItem: boolean;
  readonly #waiters: Queue<Waiter> = new Queue();
  #entries: Queue<Entry> = new Queue();
  /** How many items were taken and not handed out. */
  #held = 0;
  #taken = 0;
  /** Entries that have been handed out. */
  readonly #free: Entry[] = [];
  /**
   * Entries that were refused because too much was in flight or the queue was full, in order. They are sent again when
   * others have ended.
   */
  #refused: Entry[] = [];
  /** How many entries the engine has. */
  #inFlight = 0;
  /** How many entries have ended, and so made room in the engine. */
  #endedEntries = 0;
  /** For how many of these nothing was sent again, because nothing was known to be refused. */
  #unused = 0;
  #ended = false;
  /** What the source threw. It comes after the results of the items before it. */
  #sourceError: { readonly error: unknown } | undefined;
  /** What ended the iteration while no call of next() waited. */
  #failure: { readonly error: unknown } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #unlisten: (() => void) | undefined;

  constructor(
    model: Mappable,
    items: Iterable<Inputs> | AsyncIterable<Inputs>,
    options: MapOptions,
    origin: string,
  ) {
    const { concurrency, outputs, signal, ordered = true, onError = 'throw' } = options;
    const { priority, timeoutUs, parameters, parent, timeoutMs, withItem = false } = options;
    this.#timeoutMs = timeoutMs;
    this.#withItem = withItem;
    this.#model = model;
    this.#origin = origin;
    this.#ordered = ordered;
    this.#yieldsErrors = onError === 'yield';
    this.#concurrency = concurrency ?? model.defaultConcurrency;
    this.#refillAt = this.#concurrency - Math.max(1, Math.min(mostAtOnce, this.#concurrency >> 3));
    const checked = model.check({ outputs, priority, timeoutUs, parameters, parent });
    this.#options = { ...checked, request: { ...checked.request, owner: this } };
    this.#source = new ItemSource(items, this);
    if (!signal) return;
    const cancel = (): void => {
      this.#fail(
        new TritonError('CANCELLED', `model '${model.name}': map was cancelled by its signal`, {
          model: model.name,
          cause: signal.reason,
        }),
      );
      this.#deliver();
    };
    this.#unlisten = (): void => {
      signal.removeEventListener('abort', cancel);
    };
    if (signal.aborted) cancel();
    else signal.addEventListener('abort', cancel, { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Next> {
    const entry = this.#entries.peek();
    if (entry?.state === 'done' && this.#waiters.length === 0) {
      const next = this.#handOut(entry);
      // Several items at once take less time than one by one.
      if (this.#held <= this.#refillAt) this.#pullMore();
      return Promise.resolve(next);
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.#advance();
    });
  }

  async return(): Promise<Next> {
    const ending = this.#end();
    this.#deliver();
    await ending;
    return { done: true, value: undefined };
  }

  get hasRoom(): boolean {
    return !this.#source.exhausted && this.#refused.length === 0 && this.#held < this.#concurrency;
  }

  take(inputs: Inputs): void {
    // It may have ended while the source was asked.
    if (this.#ended) return;
    const entry = this.#free.pop() ?? this.#entry();
    entry.index = this.#taken++;
    entry.inputs = inputs;
    entry.options = this.#optionsOfItem();
    entry.state = 'under way';
    this.#held++;
    if (this.#ordered) this.#entries.push(entry);
    this.#send(entry);
  }

  /** The time of an item begins when it is taken. */
  #optionsOfItem(): CheckedOptions {
    const options = this.#options;
    if (this.#timeoutMs === undefined || this.#timeoutMs === 0) return options;
    const { request } = options;
    return { ...options, request: { ...request, signal: withDeadline(request.signal, this.#timeoutMs) } };
  }

  sourceFailed(error: unknown): void {
    this.#sourceError = { error };
  }

  sourceAnswered(): void {
    this.#advance();
  }

  /** Hands out what is done, and asks the source for as much as there is room for. */
  #advance(): void {
    this.#deliver();
    this.#pullMore();
    this.#deliver();
  }

  #pullMore(): void {
    if (this.hasRoom) this.#source.pull();
  }

  /** Hands out the first entry, which has ended. */
  #handOut(entry: Entry): Next {
    const value = this.#yielded(entry);
    this.#entries.shift();
    this.#held--;
    entry.inputs = noInputs;
    entry.options = undefined;
    entry.result = undefined;
    entry.error = undefined;
    this.#free.push(entry);
    return { done: false, value };
  }

  #yielded({ index, inputs, result, error }: Entry): Yielded {
    const item = this.#withItem ? { item: inputs } : undefined;
    if (result === undefined) {
      return { index, ...item, error: withIndex(itemError(this.#model.name, index, error), index) };
    }
    if (item !== undefined) return { index, ...item, result };
    return this.#ordered && !this.#yieldsErrors ? result : { index, result };
  }

  #deliver(): void {
    for (let waiter = this.#waiters.peek(); waiter; waiter = this.#waiters.peek()) {
      const entry = this.#entries.peek();
      if (entry) {
        if (entry.state === 'under way') return;
        if (entry.state === 'failed' && !this.#yieldsErrors) {
          this.#entries.shift();
          const { error, index } = entry;
          // What a caller's getter has thrown passes unchanged.
          this.#fail(error instanceof TritonError ? withIndex(error, index) : error);
          continue;
        }
        waiter.resolve(this.#handOut(entry));
      } else if (this.#failure) {
        waiter.reject(this.#failure.error);
        this.#failure = undefined;
      } else if (this.#sourceError && this.#held === 0) {
        const { error } = this.#sourceError;
        this.#sourceError = undefined;
        this.#fail(error);
        continue;
      } else if (this.#source.exhausted && this.#held === 0) {
        // The end has nothing to report from the source, so it is not awaited.
        void this.#end();
        waiter.resolve({ done: true, value: undefined });
      } else {
        return;
      }
      this.#waiters.shift();
    }
  }

  #entry(): Entry {
    const entry: Entry = {
      index: 0,
      inputs: noInputs,
      options: undefined,
      endedBefore: 0,
      state: 'under way',
      result: undefined,
      error: undefined,
      resolve: (result) => {
        this.#inFlight--;
        this.#noteEnd();
        if (this.#ended) return;
        entry.result = result;
        this.#settled(entry, 'done');
        if (this.#refused.length > 0) {
          this.#retry(mostForOne);
          this.#advance();
        } else if (this.#waiters.length > 0 && this.#entries.peek() === entry) {
          this.#advance();
        }
      },
      reject: (error) => {
        this.#inFlight--;
        // One that failed has made room, too.
        if (!isLimit(error)) this.#noteEnd();
        this.#failed(entry, error);
        if (!this.#ended && !isLimit(error)) this.#retry(mostForOne);
        this.#advance();
      },
    };
    return entry;
  }

  #noteEnd(): void {
    this.#endedEntries++;
    if (this.#refused.length === 0) this.#unused++;
  }

  #settled(entry: Entry, state: 'done' | 'failed'): void {
    entry.state = state;
    if (!this.#ordered) this.#entries.push(entry);
  }

  /** Returns whether the engine has the entry, or is to have it later. */
  #send(entry: Entry): boolean {
    this.#inFlight++;
    entry.endedBefore = this.#endedEntries;
    try {
      this.#model.sendChecked(entry.inputs, entry.options ?? this.#options, entry, this.#origin);
      return true;
    } catch (error) {
      this.#inFlight--;
      this.#failed(entry, error);
      return isLimit(error);
    }
  }

  #failed(entry: Entry, error: unknown): void {
    if (this.#ended) return;
    if (!isLimit(error)) {
      entry.error = error;
      this.#settled(entry, 'failed');
      return;
    }
    this.#refused.push(entry);
    // Entries that were in its way may have ended before the refusal is known, and then trigger nothing any more. So one
    // entry is sent for each that has ended since. Many may be refused at once.
    const unused = Math.min(this.#unused, this.#endedEntries - entry.endedBefore);
    if (unused > 0) {
      this.#unused = unused - 1;
      this.#retry(1);
      return;
    }
    // If it has requests in flight, their end triggers the retry. Otherwise others have the room, and one entry tries for all.
    if (this.#inFlight > 0) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#retry(1);
      // A request that cannot be sent at all ends the iteration.
      this.#advance();
    }, retryMs);
  }

  #retry(most: number): void {
    // An entry that cannot be sent at all, as of a model that was unloaded, makes room for the next one at once: nothing
    // comes back from it that would.
    for (let sent = 0; sent < most;) {
      const entry = this.#refused.shift();
      if (!entry) return;
      if (this.#send(entry)) sent++;
    }
  }

  /** Ends the iteration with an error, for the first waiter or the next one. Later calls get nothing more. */
  #fail(error: unknown): void {
    const waiter = this.#waiters.shift();
    // This error matters more than whatever the source throws when it is ended.
    const ending = this.#end().catch(() => undefined);
    if (!waiter) this.#failure = { error };
    void ending.then(() => {
      waiter?.reject(error);
    });
  }

  /** Cancels what is in flight, and tells the source to end. Resolves when the source has ended. */
  async #end(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#unlisten?.();
    clearTimeout(this.#timer);
    this.#entries = new Queue();
    this.#held = 0;
    this.#sourceError = undefined;
    this.#refused = [];
    const ending = this.#source.end();
    // Requests in flight reject during this call.
    if (this.#inFlight > 0) this.#model.cancelAll(this);
    await ending;
  }
}
