/** Counts the bytes of messages that an endpoint holds, and limits them. */

import { unavailable } from '../../errors.js';

/** See the head of this file. */
export class Budget {
  readonly #max: number;
  #held = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** The limit in bytes. */
  get max(): number {
    return this.#max;
  }

  get left(): number {
    return Math.max(0, this.#max - this.#held);
  }

  /**
   * Counts bytes of requests.
   *
   * @throws {@link TritonError} UNAVAILABLE beyond the limit; then the bytes are not counted.
   */
  take(bytes: number): void {
    if (this.#held + bytes > this.#max) {
      throw unavailable(
        'TOO_MUCH_IN_FLIGHT',
        `messages in progress hold ${this.#held} bytes, so ${bytes} more would exceed the limit of ${this.#max} (maxHeldBytes)`,
      );
    }
    this.#held += bytes;
  }

  /** Counts bytes of answers, even beyond the limit, because they exist already. */
  add(bytes: number): void {
    this.#held += bytes;
  }

  release(bytes: number): void {
    this.#held -= bytes;
  }
}
