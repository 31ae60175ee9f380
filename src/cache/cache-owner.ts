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
import type { CachedValue, ResponseCache } from './response-cache.js';

/** After a look-up that took too long, how long the engine asks nothing: at first, and at most. */
const firstPauseMs = 1000;
const longestPauseMs = 30_000;
/** How long a close waits for what is being stored, and then for the cache's own close. */
const closeMs = 1000;

/** See the head of this file. */
export class CacheOwner {
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

  constructor(name: string, cache: ResponseCache, timeoutMs: number, log: Log) {
    this.#name = name;
    this.#cache = cache;
    this.#timeoutMs = timeoutMs;
    this.#log = log;
  }

  /** Whether the cache answers. */
  get up(): boolean {
    return !this.#down;
  }

  /** @throws {@link TritonError} UNAVAILABLE if the environment has no memory for it. */
  attach(server: NativeServer): void {
    this.#native = server.attachCache(() => {
      this.#wake();
    });
    if (!this.#native) throw unavailable('NO_MEMORY', 'the system has no memory left for the response cache');
  }

  /** Stores what is left, and ends the cache. The engine has closed before. */
  async close(): Promise<void> {
    clearTimeout(this.#pause);
    if (this.#native) {
      await endsWithin(this.#storeAll(), closeMs);
      this.#native.detach();
      this.#native = undefined;
    }
    const closed = (async (): Promise<unknown> => await this.#cache.close?.())();
    await endsWithin(
      closed.catch((error: unknown) => {
        this.#log.warn(`response cache '${this.#name}': close failed: ${thrownText(error)}`, { error });
      }),
      closeMs,
    );
  }

  #wake(): void {
    const asked = this.#native?.lookups();
    if (asked) this.#lookUp(asked.batch, asked.keys);
    void this.#storeAll();
  }

  #lookUp(batch: number, keys: readonly string[]): void {
    const abort = new AbortController();
    let open = true;
    const late = (): void => {
      if (!open) return;
      open = false;
      this.#answer(batch, undefined);
      this.#rest();
      const limit = `a look-up took longer than ${this.#timeoutMs} ms`;
      this.#fail(limit, undefined);
      abort.abort(new Error(limit));
    };
    // If this event loop was blocked, the result may be there, and comes before the immediate.
    const timer = setTimeout(() => setImmediate(late), this.#timeoutMs);
    timer.unref();
    const end = (): boolean => {
      clearTimeout(timer);
      const first = open;
      open = false;
      return first;
    };
    const fail = (error: unknown): void => {
      if (!end()) return;
      this.#answer(batch, undefined);
      this.#fail(thrownText(error), error);
      // A failure at once delays nobody: unless another look-up took too long, the next one is tried.
      if (!this.#pause) this.#native?.setMode('open');
    };
    const found = (values: unknown): void => {
      if (!open) return;
      try {
        const list = checked(values, keys.length);
        end();
        this.#answer(batch, list);
        this.#recover();
      } catch (error) {
        fail(error);
      }
    };
    try {
      const result: unknown = this.#cache.lookup(keys, abort.signal);
      if (isThenable(result)) Promise.resolve(result).then(found, fail);
      else found(result);
    } catch (error) {
      fail(error);
    }
  }

  #answer(batch: number, values: readonly CachedValue[] | undefined): void {
    try {
      this.#native?.answer(batch, values);
    } catch (error) {
      // There is no memory. The requests run when their time is over.
      this.#fail(thrownText(error), error);
    }
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
    const text = `response cache '${this.#name}': ${why}; requests run without it until it answers again`;
    this.#log.warn(text, { error });
  }

  #recover(): void {
    clearTimeout(this.#pause);
    this.#pause = undefined;
    this.#pauseMs = firstPauseMs;
    if (!this.#down) return;
    this.#down = false;
    this.#native?.setMode('open');
    this.#log.warn(`response cache '${this.#name}' answers again`, {});
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
          if (!this.#storingFails && !this.#down) {
            const text = `response cache '${this.#name}': insert failed: ${thrownText(error)}`;
            this.#log.warn(text, { error });
          }
          this.#storingFails = true;
        }
      }
    } catch (error) {
      // There is no memory for the entries, which are dropped.
      this.#log.warn(`response cache '${this.#name}': ${thrownText(error)}`, { error });
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** Copies the values of a look-up into a list that nobody else has, and bytes that another thread may write to. */
function checked(values: unknown, count: number): CachedValue[] {
  if (!Array.isArray(values) || values.length !== count) {
    const what = Array.isArray(values) ? `an array of ${values.length}` : typeof values;
    throw new TypeError(`lookup: expected an array of ${count} values but received ${what}`);
  }
  return Array.from(values, (value: unknown, i) => {
    if (value === undefined || value === null) return undefined;
    if (!(value instanceof Uint8Array))
      throw new TypeError(
        `lookup: expected a Uint8Array, undefined or null at ${i} but received ${typeof value}`,
      );
    return value.buffer instanceof SharedArrayBuffer ? Uint8Array.from(value) : value;
  });
}
