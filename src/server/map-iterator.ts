/**
 * The iterator behind `Model.map`. Hand-written: an async generator costs half of the throughput.
 *
 *     source -> entries, in order: those in flight, those that are done -> waiters, the calls of next()
 *
 * No more than `concurrency` items are entries at a time. The first entry goes to the first waiter when it is done.
 * Entries are used again, so that an item costs nothing but its request, its result and a promise.
 */

import { AsyncResource } from 'node:async_hooks';
import { isLimit } from '../dispatch/errors.js';
import type { Waiter as ResultWaiter } from '../dispatch/types.js';
import { TritonError } from '../errors.js';
import type { Inputs } from '../tensor/inputs.js';
import type { CheckedOptions } from './infer-options.js';
import { Queue } from '../queue.js';
import type { InferOptions, InferResult, MapOptions } from './results.js';

/** The part of a model that `map` needs. */
export interface Mappable {
  readonly name: string;
  readonly defaultConcurrency: number;
  check(options: InferOptions): CheckedOptions;
  cancelAll(owner: object): void;
  sendChecked(
    inputs: Inputs,
    options: CheckedOptions,
    waiter: ResultWaiter<InferResult>,
    origin: string,
  ): void;
}

type Next = IteratorResult<InferResult, undefined>;

/** A call of next() that has no answer yet. */
interface Waiter {
  readonly resolve: (next: Next) => void;
  readonly reject: (error: unknown) => void;
}

/** An item on its way. */
interface Entry {
  inputs: Inputs;
  state: 'under way' | 'done' | 'failed';
  result: InferResult | undefined;
  error: unknown;
  /** What the model calls at its end. */
  readonly resolve: (result: InferResult) => void;
  readonly reject: (error: unknown) => void;
}

const noInputs: Inputs = Object.freeze({});

/** Items that are taken from the source in one go while all goes well. */
const mostAtOnce = 128;

/** How long to wait before another try when only others have requests in flight, in milliseconds. */
const retryMs = 1;

/** See the head of this file. */
export class MapIterator implements AsyncIterableIterator<InferResult> {
  readonly #model: Mappable;
  readonly #concurrency: number;
  /** The source is asked for more when so few items are entries that a good many can be taken. */
  readonly #refillAt: number;
  /** Frames of whoever called `map`; with `captureStacks` only. */
  readonly #origin: string;
  readonly #options: CheckedOptions;
  readonly #items: Iterator<Inputs, unknown> | undefined;
  readonly #asyncItems: AsyncIterator<Inputs, unknown> | undefined;
  /** The source runs in the async context (`AsyncLocalStorage`) of whoever called `map`. */
  readonly #context: AsyncResource = new AsyncResource('tritonts.map');
  readonly #waiters: Queue<Waiter> = new Queue();
  #entries: Queue<Entry> = new Queue();
  /** Entries that have been handed out. */
  readonly #free: Entry[] = [];
  /** Entries that were refused for too much in flight, in order; sent again when others have ended. */
  #refused: Entry[] = [];
  /** Entries that the engine has. */
  #inFlight = 0;
  /** An async source was asked for its next item. */
  #pulling = false;
  /** The source has no more items, or is not to be asked for any. */
  #exhausted = false;
  #ended = false;
  /** What ended it while nobody waited. */
  #failure: { readonly error: unknown } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #unlisten: (() => void) | undefined;

  constructor(
    model: Mappable,
    items: Iterable<Inputs> | AsyncIterable<Inputs>,
    { concurrency, outputs, signal }: MapOptions,
    origin: string,
  ) {
    this.#model = model;
    this.#origin = origin;
    this.#concurrency = concurrency ?? model.defaultConcurrency;
    this.#refillAt = this.#concurrency - Math.max(1, Math.min(mostAtOnce, this.#concurrency >> 3));
    const checked = model.check({ outputs });
    this.#options = { ...checked, request: { ...checked.request, owner: this } };
    if (Symbol.asyncIterator in items) this.#asyncItems = items[Symbol.asyncIterator]();
    else this.#items = items[Symbol.iterator]();
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
      // Several items at once take less time than as many one by one.
      if (this.#entries.length <= this.#refillAt) this.#pullMore();
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

  /** Hands out what is done, and asks the source for what there is room for. */
  #advance(): void {
    this.#deliver();
    this.#pullMore();
    this.#deliver();
  }

  #pullMore(): void {
    // Most often answers make room, in whatever context these come.
    if (this.#hasRoom) this.#context.runInAsyncScope(this.#pullNow, this);
  }

  #pullNow(): void {
    if (this.#asyncItems) this.#pullAsync(this.#asyncItems);
    else if (this.#items) this.#pull(this.#items);
  }

  /** Takes the first entry, which is done. */
  #handOut(entry: Entry): Next {
    // A done entry has a result.
    const value = entry.result as InferResult;
    this.#entries.shift();
    entry.inputs = noInputs;
    entry.result = undefined;
    this.#free.push(entry);
    return { done: false, value };
  }

  #deliver(): void {
    for (let waiter = this.#waiters.peek(); waiter; waiter = this.#waiters.peek()) {
      const entry = this.#entries.peek();
      if (entry) {
        if (entry.state === 'under way') return;
        if (entry.state === 'failed') {
          this.#entries.shift();
          this.#fail(entry.error);
          continue;
        }
        waiter.resolve(this.#handOut(entry));
      } else if (this.#failure) {
        waiter.reject(this.#failure.error);
        this.#failure = undefined;
      } else if (this.#exhausted) {
        // It has nothing to tell the source, so there is nothing to wait for.
        void this.#end();
        waiter.resolve({ done: true, value: undefined });
      } else {
        return;
      }
      this.#waiters.shift();
    }
  }

  get #hasRoom(): boolean {
    return !this.#exhausted && this.#refused.length === 0 && this.#entries.length < this.#concurrency;
  }

  #pull(items: Iterator<Inputs, unknown>): void {
    while (this.#hasRoom) {
      try {
        this.#take(items.next());
      } catch (error) {
        this.#sourceFailed(error);
      }
    }
  }

  #pullAsync(items: AsyncIterator<Inputs, unknown>): void {
    if (this.#pulling || !this.#hasRoom) return;
    this.#pulling = true;
    let step: Promise<IteratorResult<Inputs, unknown>>;
    try {
      step = Promise.resolve(items.next());
    } catch (error) {
      this.#pulling = false;
      this.#sourceFailed(error);
      return;
    }
    step
      .then((next) => {
        this.#pulling = false;
        this.#take(next);
      })
      .catch((error: unknown) => {
        this.#pulling = false;
        this.#sourceFailed(error);
      })
      .finally(() => {
        this.#advance();
      });
  }

  #take({ done, value }: IteratorResult<Inputs, unknown>): void {
    if (done === true) {
      this.#exhausted = true;
      return;
    }
    // It may have ended while the source was asked.
    if (this.#ended) return;
    const entry = this.#free.pop() ?? this.#entry();
    entry.inputs = value;
    entry.state = 'under way';
    this.#entries.push(entry);
    this.#send(entry);
  }

  #entry(): Entry {
    const entry: Entry = {
      inputs: noInputs,
      state: 'under way',
      result: undefined,
      error: undefined,
      resolve: (result) => {
        this.#inFlight--;
        entry.state = 'done';
        entry.result = result;
        if (this.#refused.length > 0) {
          // Twice as many as have ended: so it gets back to where it was when there is more room again.
          this.#retry(2);
          this.#advance();
        } else if (this.#waiters.length > 0 && this.#entries.peek() === entry) {
          this.#advance();
        }
      },
      reject: (error) => {
        this.#inFlight--;
        this.#failed(entry, error);
        this.#advance();
      },
    };
    return entry;
  }

  /** The source's own error, whatever it is, comes after the results of the items before it. */
  #sourceFailed(error: unknown): void {
    this.#exhausted = true;
    if (this.#ended) return;
    const entry = this.#entry();
    entry.state = 'failed';
    entry.error = error;
    this.#entries.push(entry);
  }

  #send(entry: Entry): void {
    this.#inFlight++;
    try {
      this.#model.sendChecked(entry.inputs, this.#options, entry, this.#origin);
    } catch (error) {
      this.#inFlight--;
      this.#failed(entry, error);
    }
  }

  #failed(entry: Entry, error: unknown): void {
    if (!isLimit(error)) {
      entry.state = 'failed';
      entry.error = error;
      return;
    }
    if (this.#ended) return;
    this.#refused.push(entry);
    // With something of our own in flight, its end is the signal; else others hold the memory.
    if (this.#inFlight > 0) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#retry(Infinity);
      // What cannot be sent any more ends it.
      this.#advance();
    }, retryMs);
  }

  #retry(most: number): void {
    if (this.#refused.length === 0) return;
    for (const entry of this.#refused.splice(0, most)) this.#send(entry);
  }

  /** Ends it with an error, for the first waiter or for the next that comes; others get nothing more. */
  #fail(error: unknown): void {
    const waiter = this.#waiters.shift();
    // What the source has to say about its end counts less.
    const ending = this.#end().catch(() => undefined);
    if (!waiter) this.#failure = { error };
    void ending.then(() => {
      waiter?.reject(error);
    });
  }

  /** Cancels what is in flight, and tells the source that no more is wanted; resolves when the source has ended. */
  async #end(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#unlisten?.();
    clearTimeout(this.#timer);
    this.#entries = new Queue();
    this.#refused = [];
    const exhausted = this.#exhausted;
    this.#exhausted = true;
    // What is in flight rejects in here.
    if (this.#inFlight > 0) this.#model.cancelAll(this);
    if (exhausted) return;
    this.#items?.return?.();
    const ending = this.#asyncItems?.return?.();
    // A generator that was asked for an item ends when it has it, and that may be never.
    if (this.#pulling) ending?.catch(() => undefined);
    else await ending;
  }
}
