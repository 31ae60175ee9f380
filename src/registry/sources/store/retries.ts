/** Tries a call of a store again while that may help, and ends one that hangs. */

import { setTimeout as wait } from 'node:timers/promises';
import { follow } from '../../../signals.js';
import { clearTimeout, setTimeout } from '../../../timers.js';
import type { StoreFault } from './object-store.js';

/** How often a call is tried, and how long it rests in between, in milliseconds: twice as long each time. */
const mostTries = 5;
const firstRestMs = 200;
const longestRestMs = 5000;

/** How long a store may send nothing. */
export const silenceMs = 30_000;

/** A call that has failed, after all its tries. */
export class StoreCallError extends Error {
  readonly fault: StoreFault;
  readonly tries: number;

  constructor(fault: StoreFault, tries: number, cause: unknown) {
    super(fault.text, { cause });
    this.fault = fault;
    this.tries = tries;
  }
}

/** One try of a call. */
export interface Try {
  /** Aborted when the caller's is, and when the store has been silent for too long. */
  readonly signal: AbortSignal;
  /** Something came from the store: it is not silent. */
  readonly alive: () => void;
  /** The call has got so far that the tries count anew. */
  readonly forward: () => void;
}

/**
 * Makes a call until it succeeds, or fails with what will not pass.
 *
 * @param limitMs - Replaces {@link silenceMs} in tests.
 * @throws StoreCallError; the signal's reason once it is aborted.
 */
export async function insistently<T>(
  call: (one: Try) => Promise<T>,
  faultOf: (error: unknown) => StoreFault,
  signal: AbortSignal,
  limitMs: number = silenceMs,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    const own = new AbortController();
    const store: { isSilent: boolean } = { isSilent: false };
    const timer = setTimeout(() => {
      store.isSilent = true;
      own.abort();
    }, limitMs);
    const letGo = follow(own, signal);
    const one: Try = {
      signal: own.signal,
      alive: () => void timer.refresh(),
      forward: () => {
        tries = 1;
      },
    };
    try {
      return await call(one);
    } catch (error) {
      signal.throwIfAborted();
      const fault: StoreFault = store.isSilent
        ? { kind: 'passing', text: `nothing came for ${limitMs / 1000} s` }
        : faultOf(error);
      if (fault.kind !== 'passing' || tries >= mostTries) throw new StoreCallError(fault, tries, error);
    } finally {
      clearTimeout(timer);
      letGo();
      // Ends what a failed try has left: an answer that nobody reads holds its connection.
      own.abort();
    }
    // Servers that start together do not come back together.
    const rest = Math.min(longestRestMs, firstRestMs * 2 ** (tries - 1)) * (0.5 + Math.random() / 2);
    await wait(rest, undefined, { signal });
  }
}
