/** A queue whose ends cost the same however long it is: an array moves what is left at each `shift()`. */

/** First in, first out. */
export class Queue<T> {
  /** A ring; its length is a power of two. */
  #ring: (T | undefined)[] = new Array<T | undefined>(16).fill(undefined);
  #head = 0;
  #length = 0;

  /** How many there are. */
  get length(): number {
    return this.#length;
  }

  /** The one that is next; undefined if there is none. */
  peek(): T | undefined {
    return this.#ring[this.#head];
  }

  /** Adds one at the end. */
  push(value: T): void {
    if (this.#length === this.#ring.length) this.#grow();
    this.#ring[(this.#head + this.#length) & (this.#ring.length - 1)] = value;
    this.#length++;
  }

  /** Takes the one that is next; undefined if there is none. */
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
