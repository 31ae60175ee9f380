/**
 * Opens and ends a response cache that is a plug-in of Triton, for the server that uses it. The addon's threads look into it
 * (`native/plugins/cache_owner.h`); this event loop only writes the log.
 */

import { addon } from '../addon/load.js';
import type { NativePluginCache, NativePluginCacheState } from '../addon/native/cache.js';
import type { NativeServer } from '../addon/native/server.js';
import { statusError } from '../addon/status.js';
import { tritonLibrary } from '../addon/triton-library.js';
import type { PluginCacheSetup } from '../cache-config.js';
import { TritonError, unavailable } from '../errors.js';
import { tellIfLate } from '../late.js';
import type { Log } from '../logger.js';
import { printableLine } from '../printable.js';
import { endsWithin, longestTimerMs } from '../time-limit.js';
import { clearInterval, setInterval } from '../timers.js';
import type { ServerCache } from './server-cache.js';

/** How long a close waits for what is being stored, and for the plug-in. */
const closeMs = 2000;

/** See the head of this file. */
export class PluginCache implements ServerCache {
  readonly #name: string;
  readonly #log: Log;
  #native: NativePluginCache | undefined;
  #up = true;
  /** What waits for another state. */
  readonly #waiting = new Set<() => void>();

  private constructor(name: string, log: Log) {
    this.#name = name;
    this.#log = log;
  }

  /**
   * Has the plug-in make a cache. That may take any time.
   *
   * @throws {@link TritonError} What the plug-in says; UNAVAILABLE if its library cannot be opened, UNSUPPORTED on a system
   *   without plug-ins, INVALID_ARG for a library that is no cache.
   */
  static async open(
    { name, library, config }: PluginCacheSetup,
    log: Log,
    signal: AbortSignal | undefined,
  ): Promise<PluginCache> {
    const made = new PluginCache(name, log);
    const native = addon().openPluginCache(library, tritonLibrary(), config, () => {
      made.#changed();
    });
    if (!native)
      throw unavailable('NO_MEMORY', `response cache '${name}': the system has no thread left for it`);
    made.#native = native;
    // The engine keeps the process alive only later.
    const alive = setInterval(() => undefined, longestTimerMs);
    try {
      for (;;) {
        const { opened, fault } = made.#read(native);
        if (opened && fault === null) return made;
        if (fault !== null) {
          const { code, reason, message } = statusError(fault);
          // A plug-in may say anything.
          throw new TritonError(code, `response cache '${name}': ${printableLine(message)}`, { reason });
        }
        await tellIfLate(
          log,
          `response cache '${name}': the plug-in has made no cache`,
          {},
          made.#next(signal),
        );
        if (signal?.aborted === true) return made;
      }
    } catch (error) {
      await made.close();
      throw error;
    } finally {
      clearInterval(alive);
    }
  }

  get up(): boolean {
    return this.#up;
  }

  attach(server: NativeServer): void {
    if (!this.#native || !server.attachPluginCache(this.#native))
      throw unavailable('NO_MEMORY', 'the system has no threads left for the response cache');
  }

  async close(): Promise<void> {
    const native = this.#native;
    if (!native) return;
    native.close();
    const ended = (async (): Promise<void> => {
      while (!this.#read(native).ended) await this.#next(undefined);
    })();
    if (!(await endsWithin(ended, closeMs)))
      this.#log.warn(
        `response cache '${this.#name}': it did not end within ${closeMs} ms, so its thread was abandoned`,
        {},
      );
    this.#native = undefined;
    native.detach();
  }

  /** Resolves at the next other state, or when the signal is aborted. */
  #next(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#waiting.delete(end);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      this.#waiting.add(end);
      signal?.addEventListener('abort', end, { once: true });
    });
  }

  #changed(): void {
    if (this.#native) this.#read(this.#native);
    for (const end of [...this.#waiting]) end();
  }

  #read(native: NativePluginCache): NativePluginCacheState {
    const state = native.state();
    this.#up = state.up;
    for (const note of state.notes)
      this.#log.warn(`response cache '${this.#name}'${printableLine(note)}`, {});
    return state;
  }
}
