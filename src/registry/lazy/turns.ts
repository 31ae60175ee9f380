/** Lets a limited number of loads run at once, in the order in which they came. */

import { clearTimeout, setTimeout } from '../../timers.js';

/**
 * How long others wait for one that has its turn. Then it does not count any more: it may itself wait for these, or for something
 * that does not end.
 */
const mostWaitMs = 10_000;

/** See the head of this file. */
export class Turns {
  readonly #atOnce: number;
  readonly #waiting: Set<() => void> = new Set();
  /** Those that have their turn, and count. */
  #holders: Set<object> = new Set();
  #timer: NodeJS.Timeout | undefined;
  #isEnded = false;

  /** @param atOnce - How many may have their turn at once. */
  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Resolves at the turn, with what ends it. */
  async take(): Promise<() => void> {
    const holder = {};
    if (this.#isEnded || this.#holders.size < this.#atOnce) this.#holders.add(holder);
    else {
      await new Promise<void>((resolve) => {
        this.#waiting.add(() => {
          this.#holders.add(holder);
          resolve();
        });
        this.#timer ??= this.#limit();
      });
    }
    return () => {
      if (this.#holders.delete(holder)) this.#next();
    };
  }

  /** All that wait go on now. */
  endAll(): void {
    this.#isEnded = true;
    for (const take of this.#waiting) take();
    this.#waiting.clear();
    clearTimeout(this.#timer);
  }

  #next(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#holders.size < this.#atOnce) {
      const [take] = this.#waiting;
      if (take === undefined) return;
      this.#waiting.delete(take);
      take();
    }
    if (this.#waiting.size > 0) this.#timer = this.#limit();
  }

  #limit(): NodeJS.Timeout {
    return setTimeout(() => {
      this.#holders = new Set();
      this.#next();
    }, mostWaitMs);
  }
}
