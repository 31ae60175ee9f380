/**
 * Bounds how many calls run at once, fairly between those for whom they are made: a free place goes to the one that has the fewest,
 * and one that has none need not wait for others, within a second bound. A call that is silent for a while has no place: it may hang,
 * and does not hold up others. It has one again when it goes on.
 */

import { clearTimeout, setTimeout } from '../../../timers.js';

/** How long a call may be silent and keep its place, in milliseconds. */
const otherwiseSilentMs = 5000;

/** How many calls may be without a place. Each has a connection. */
const mostSilent = 256;

/** A call that waits. */
interface Waiting {
  readonly owner: string;
  readonly begin: () => void;
}

/** See the head of this file. */
export class Slots {
  readonly #count: number;
  readonly #most: number;
  readonly #silentMs: number;
  #all = 0;
  #silent = 0;
  readonly #running: Map<string, number> = new Map();
  readonly #waiting: Set<Waiting> = new Set();

  /**
   * @param count - How many calls run at once.
   * @param most - How many do if each further one is the only one of its owner (default: no more).
   * @param silentMs - How long one may be silent and keep its place.
   */
  constructor(count: number, most: number = count, silentMs: number = otherwiseSilentMs) {
    this.#count = count;
    this.#most = most;
    this.#silentMs = silentMs;
  }

  /**
   * Runs a function when there is room for it.
   *
   * @param call - Gets a function that it calls when it goes on.
   */
  async run<T>(owner: string, call: (goesOn: () => void) => Promise<T>): Promise<T> {
    if (this.#hasRoom(owner)) this.#add(owner, 1);
    else {
      await new Promise<void>((begin) => {
        this.#waiting.add({ owner, begin });
      });
    }
    const place: { isHeld: boolean } = { isHeld: true };
    const timer = setTimeout(() => {
      if (this.#silent === mostSilent) return;
      place.isHeld = false;
      this.#silent++;
      this.#leave(owner);
    }, this.#silentMs).unref();
    const goesOn = (): void => {
      timer.refresh();
      if (place.isHeld) return;
      // Nobody has to end for it: there may be more than the bound for a while.
      place.isHeld = true;
      this.#silent--;
      this.#add(owner, 1);
    };
    try {
      return await call(goesOn);
    } finally {
      clearTimeout(timer);
      if (place.isHeld) this.#leave(owner);
      else this.#silent--;
    }
  }

  #leave(owner: string): void {
    this.#add(owner, -1);
    this.#beginNext();
  }

  #hasRoom(owner: string): boolean {
    return this.#all < this.#count || (this.#all < this.#most && this.#of(owner) === 0);
  }

  #of(owner: string): number {
    return this.#running.get(owner) ?? 0;
  }

  #add(owner: string, calls: number): void {
    this.#all += calls;
    const of = this.#of(owner) + calls;
    if (of > 0) this.#running.set(owner, of);
    else this.#running.delete(owner);
  }

  #beginNext(): void {
    let next: Waiting | undefined;
    for (const one of this.#waiting) {
      if (!next || this.#of(one.owner) < this.#of(next.owner)) next = one;
      if (this.#of(next.owner) === 0) break;
    }
    if (!next || !this.#hasRoom(next.owner)) return;
    this.#waiting.delete(next);
    this.#add(next.owner, 1);
    next.begin();
  }
}
