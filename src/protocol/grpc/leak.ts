/** Counts what may happen so often at once, and so often a second after that. */

/** See the head of this file. */
export class Leak {
  readonly #most: number;
  readonly #perSecond: number;
  #count = 0;
  #last = 0;

  constructor(most: number, perSecond: number) {
    this.#most = most;
    this.#perSecond = perSecond;
  }

  /**
   * It happened once more.
   *
   * @param now - The time in milliseconds, of a clock that never goes back.
   * @returns Whether it has happened too often.
   */
  add(now: number): boolean {
    this.#count = Math.max(0, this.#count - ((now - this.#last) / 1000) * this.#perSecond) + 1;
    this.#last = now;
    return this.#count > this.#most;
  }
}
