/**
 * Rejections of many requests at once, in slices: to make an error and to settle a promise takes microseconds, and whoever
 * cancels a hundred thousand requests must not hold the event loop for it.
 */

import { performance } from 'node:perf_hooks';
import { withoutStack } from './errors.js';
import { setImmediate } from './timers.js';
import type { Waiter } from './types.js';

/** How long a slice may hold the event loop, in milliseconds. */
const sliceMs = 1;
/** So many are rejected before the clock is looked at; the first so many errors have a stack. */
const portion = 32;

interface Rejection {
  readonly waiter: Waiter<unknown>;
  readonly error: () => unknown;
}

/** See the head of this file. One a dispatcher. */
export class Rejections {
  #queue: Rejection[] = [];
  /** Of these so many are rejected. */
  #done = 0;
  #scheduled = false;

  /** Rejects a waiter, which nobody else settles: now or soon, after those that were added before. */
  add(waiter: Waiter<unknown>, error: () => unknown): void {
    this.#queue.push({ waiter, error });
  }

  /** Rejects what was added: the first of them now, the others with the next turns of the event loop. */
  run(ended: () => void): void {
    if (this.#scheduled) return;
    const end = performance.now() + sliceMs;
    while (this.#done < this.#queue.length) {
      if (this.#done % portion === 0 && this.#done > 0 && performance.now() > end) {
        this.#scheduled = true;
        setImmediate(() => {
          this.#scheduled = false;
          this.run(ended);
        });
        return;
      }
      const next = this.#queue[this.#done++];
      if (next === undefined) break;
      const { waiter, error } = next;
      waiter.reject(this.#done <= portion ? error() : withoutStack(error));
    }
    this.#queue = [];
    this.#done = 0;
    ended();
  }
}
