/**
 * Bounds how many calls run at once, fairly between those for whom they are made: a free place goes to the one that has the fewest,
 * and one that has none need not wait for others, within a second bound.
 */

/** A call that waits. */
interface Waiting {
  readonly owner: string;
  readonly begin: () => void;
}

/** See the head of this file. */
export class Slots {
  readonly #count: number;
  readonly #most: number;
  #all = 0;
  readonly #running: Map<string, number> = new Map();
  readonly #waiting: Set<Waiting> = new Set();

  /**
   * @param count - How many calls run at once.
   * @param most - How many do if each further one is the only one of its owner (default: no more).
   */
  constructor(count: number, most: number = count) {
    this.#count = count;
    this.#most = most;
  }

  /** Runs a function when there is room for it. */
  async run<T>(owner: string, call: () => Promise<T>): Promise<T> {
    if (this.#hasRoom(owner)) this.#add(owner, 1);
    else {
      await new Promise<void>((begin) => {
        this.#waiting.add({ owner, begin });
      });
    }
    try {
      return await call();
    } finally {
      this.#add(owner, -1);
      this.#beginNext();
    }
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
