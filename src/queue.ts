/** A queue with constant cost at both ends. An array may move all its remaining entries at each `shift()`. */

/** A first-in, first-out queue. */
export class Queue<T> {
  /** A ring buffer; its length is a power of two. */
  #ring: (T | undefined)[] = new Array<T | undefined>(16).fill(undefined);
  #head = 0;
  #length = 0;

  /** The number of entries. */
  get length(): number {
    return this.#length;
  }

  /** The next entry; undefined if there is none. */
  peek(): T | undefined {
    return this.#ring[this.#head];
  }

  /** Adds an entry at the end. */
  push(value: T): void {
    if (this.#length === this.#ring.length) this.#grow();
    this.#ring[(this.#head + this.#length) & (this.#ring.length - 1)] = value;
    this.#length++;
  }

  /** Removes the next entry and returns it; undefined if there is none. */
  shift(): T | undefined {
    const value = this.#ring[this.#head];
    if (this.#length === 0) return undefined;
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#length--;
    return value;
  }

  #grow(): void {
    const { length } = this.#ring;
    this.#ring = [
      ...this.#ring.slice(this.#head),
      ...this.#ring.slice(0, this.#head),
      ...new Array<T | undefined>(length).fill(undefined),
    ];
    this.#head = 0;
  }
}
