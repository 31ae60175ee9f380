/**
 * Connects a server's engine with a response cache outside of it: hands over what the engine asks for and stores, limits the
 * time, and notes whether the cache answers.
 *
 *   up --look-up fails--> down --look-up succeeds--> up
 *
 * If a look-up takes too long, the engine asks no more for a while, and then once to try. So a cache that hangs delays few
 * requests. The engine limits the time of each request itself, in case this event loop is blocked.
 */

import type { NativeCache } from '../addon/native/cache.js';
import type { NativeServer } from '../addon/native/server.js';
import { unavailable } from '../errors.js';
import type { Log } from '../logger.js';
import { thrownText } from '../thrown-text.js';
import { endsWithin } from '../time-limit.js';
import { clearTimeout, setImmediate, setTimeout } from '../timers.js';
import type { CachedValue, ResponseCache } from './response-cache.js';
import type { ServerCache } from './server-cache.js';

/** After a look-up that took too long, how long the engine asks nothing: at first, and at most. */
const firstPauseMs = 1000;
const longestPauseMs = 30_000;
/** How long a close waits for what is being stored, and then for the cache's own close. */
const closeMs = 1000;

/** A look-up that has not ended. */
interface OpenLookUp {
  readonly abort: AbortController;
  readonly timer: NodeJS.Timeout;
}

/** See the head of this file. */
export class CacheOwner implements ServerCache {
  readonly #name: string;
  readonly #cache: ResponseCache;
  readonly #timeoutMs: number;
  readonly #log: Log;
  #native: NativeCache | undefined;
  #down = false;
  #pauseMs = firstPauseMs;
  #pause: NodeJS.Timeout | undefined;
  #storing: Promise<void> | undefined;
  #storingFails = false;
  readonly #open = new Set<OpenLookUp>();
  #life: 'open' | 'closing' | 'closed' = 'open';

  constructor(name: string, cache: ResponseCache, timeoutMs: number, log: Log) {
    this.#name = name;
    this.#cache = cache;
    this.#timeoutMs = timeoutMs;
    this.#log = log;
  }

  get up(): boolean {
    return !this.#down;
  }

  attach(server: NativeServer): void {
    this.#native = server.attachCache(() => {
      this.#wake();
    });
    if (!this.#native) throw unavailable('NO_MEMORY', 'the system has no memory left for the response cache');
  }

  async close(): Promise<void> {
    this.#life = 'closing';
    clearTimeout(this.#pause);
    const unfinished = [...this.#open];
    this.#open.clear();
    for (const { timer } of unfinished) clearTimeout(timer);
    if (this.#native) {
      await endsWithin(this.#storeAll(), closeMs);
      this.#native.detach();
      this.#native = undefined;
    }
    // Not before: a cache may give up the connection over which it stores.
    for (const { abort } of unfinished) abort.abort(new Error('the server has closed'));
    const closed = (async (): Promise<unknown> => await this.#cache.close?.())();
    await endsWithin(
      closed.catch((error: unknown) => {
        this.#warn(`: close failed: ${thrownText(error)}`, error);
      }),
      closeMs,
    );
    this.#life = 'closed';
  }

  #wake(): void {
    try {
      const asked = this.#life === 'open' ? this.#native?.lookups() : undefined;
      if (asked) this.#lookUp(asked.batch, asked.keys);
    } catch (error) {
      // There is no memory. What was asked runs when its time is over.
      this.#rest();
      this.#fail(thrownText(error), error);
    }
    void this.#storeAll();
  }

  #lookUp(batch: number, keys: readonly string[]): void {
    const late = (): void => {
      if (!end()) return;
      this.#answer(batch, undefined);
      this.#rest();
      const limit = `a look-up took longer than ${this.#timeoutMs} ms`;
      this.#fail(limit, undefined);
      one.abort.abort(new Error(limit));
    };
    // If this event loop was blocked, the result may be there, and comes before the immediate.
    const timer = setTimeout(() => setImmediate(late), this.#timeoutMs);
    timer.unref();
    const one: OpenLookUp = { abort: new AbortController(), timer };
    this.#open.add(one);
    /** Whether it was open. */
    const end = (): boolean => {
      clearTimeout(timer);
      return this.#open.delete(one);
    };
    const fail = (error: unknown): void => {
      if (!end()) return;
      this.#answer(batch, undefined);
      this.#failAtOnce(error);
    };
    const found = (values: unknown): void => {
      if (!this.#open.has(one)) return;
      try {
        const list = checked(values, keys.length);
        end();
        if (this.#answer(batch, list)) this.#recover();
      } catch (error) {
        fail(error);
      }
    };
    try {
      const result: unknown = this.#cache.lookup(keys, one.abort.signal);
      if (isThenable(result)) Promise.resolve(result).then(found, fail);
      else found(result);
    } catch (error) {
      fail(error);
    }
  }

  /** Whether the engine has the results. */
  #answer(batch: number, values: readonly CachedValue[] | undefined): boolean {
    try {
      this.#native?.answer(batch, values);
      return true;
    } catch (error) {
      // There is no memory. The requests run when their time is over.
      this.#failAtOnce(error);
      return false;
    }
  }

  /** A failure at once delays nobody: unless another look-up took too long, the next one is tried. */
  #failAtOnce(error: unknown): void {
    this.#fail(thrownText(error), error);
    if (!this.#pause) this.#native?.setMode('open');
  }

  /** The engine asks nothing for a while. */
  #rest(): void {
    if (this.#pause) return;
    this.#native?.setMode('paused');
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#native?.setMode('probe');
    }, this.#pauseMs);
    this.#pause.unref();
    this.#pauseMs = Math.min(2 * this.#pauseMs, longestPauseMs);
  }

  #fail(why: string, error: unknown): void {
    if (this.#down) return;
    this.#down = true;
    this.#warn(`: ${why}; requests run without it until it answers again`, error);
  }

  #recover(): void {
    clearTimeout(this.#pause);
    this.#pause = undefined;
    this.#pauseMs = firstPauseMs;
    if (!this.#down) return;
    this.#down = false;
    this.#native?.setMode('open');
    this.#warn(' answers again');
  }

  /** Nobody expects a message of a server that has closed. */
  #warn(text: string, error?: unknown): void {
    if (this.#life === 'closed') return;
    this.#log.warn(`response cache '${this.#name}'${text}`, { error });
  }

  /** Stores all that waits, one call after the other. */
  #storeAll(): Promise<void> {
    this.#storing ??= this.#store().finally(() => {
      this.#storing = undefined;
    });
    return this.#storing;
  }

  async #store(): Promise<void> {
    try {
      for (;;) {
        const entries = this.#native?.entries() ?? [];
        if (entries.length === 0) return;
        try {
          await this.#cache.insert(entries);
          this.#storingFails = false;
        } catch (error) {
          // A cache that does not answer was told of already.
          if (!this.#storingFails && !this.#down) this.#warn(`: insert failed: ${thrownText(error)}`, error);
          this.#storingFails = true;
        }
      }
    } catch (error) {
      // There is no memory for the entries, which are dropped.
      this.#warn(`: ${thrownText(error)}`, error);
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** Copies the values of a look-up into a list that nobody else has, and bytes that another thread may write to. */
function checked(values: unknown, count: number): CachedValue[] {
  const length = Array.isArray(values) ? values.length : undefined;
  if (!Array.isArray(values) || length !== count) {
    const what = length === undefined ? typeof values : `an array of ${length}`;
    throw new TypeError(`lookup: expected an array of ${count} values but received ${what}`);
  }
  const list: CachedValue[] = [];
  // Not by the iterator, which the program may have replaced by one that does not end.
  for (let i = 0; i < count; i++) {
    const value: unknown = values[i];
    if (value === undefined || value === null) list.push(undefined);
    else if (value instanceof Uint8Array)
      list.push(value.buffer instanceof SharedArrayBuffer ? new Uint8Array(value) : value);
    else {
      const what = `a Uint8Array, undefined or null at ${i}`;
      throw new TypeError(`lookup: expected ${what} but received ${typeof value}`);
    }
  }
  return list;
}
