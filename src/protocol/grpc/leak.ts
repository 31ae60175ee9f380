/** A leaky bucket: allows a burst of events, and then a fixed rate per second. */

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
   * Counts an event.
   *
   * @param now - The time in milliseconds, of a monotonic clock.
   * @returns Whether the events exceed the limit.
   */
  add(now: number): boolean {
    this.#count = Math.max(0, this.#count - ((now - this.#last) / 1000) * this.#perSecond) + 1;
    this.#last = now;
    return this.#count > this.#most;
  }
}
