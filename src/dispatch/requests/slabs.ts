/**
 * Memory for the inputs of small requests: slabs of 1 MiB that native code owns, divided into ranges.
 *
 * The sizes of ranges are powers of two. The free ranges of each size are reused in the order in which they
 * were freed. So requests of one tick mostly lie next to each other, and a batch of them needs no gathering.
 */

import { slabBytes, slabMostBytes, slabUnit } from '../../addon/layout.js';

const smallest = slabUnit;
/** Slabs are divided into pieces of this many bytes, and each piece into ranges of one size. */
const pieceBytes = slabMostBytes;
/** Positions are small integers, which V8 handles best. */
const mostBytes = 2 ** 30 * slabUnit;

/** The free ranges of one size, first in, first out. */
class RangeQueue {
  readonly size: number;
  #ring: Int32Array = new Int32Array(64);
  #head = 0;
  #count = 0;

  constructor(size: number) {
    this.size = size;
  }

  get empty(): boolean {
    return this.#count === 0;
  }

  clear(): void {
    this.#ring = new Int32Array(64);
    this.#head = this.#count = 0;
  }

  push(position: number): void {
    if (this.#count === this.#ring.length) {
      const larger = new Int32Array(this.#ring.length * 2);
      for (let i = 0; i < this.#count; i++) {
        larger[i] = this.#ring[(this.#head + i) & (this.#ring.length - 1)] ?? 0;
      }
      this.#ring = larger;
      this.#head = 0;
    }
    this.#ring[(this.#head + this.#count++) & (this.#ring.length - 1)] = position;
  }

  /** Takes a range. The queue must not be empty. */
  take(): number {
    const position = this.#ring[this.#head] ?? 0;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#count--;
    return position;
  }
}

/** Allocates ranges of slabs. A position is `(slab * slabBytes + offset) / slabUnit`. */
export class SlabAllocator {
  readonly #addSlab: () => void;
  readonly #limit: number;
  readonly #queues: RangeQueue[] = [];
  #bytes = 0;
  /** The start of the next unused piece; a multiple of pieceBytes. */
  #next = 0;

  /**
   * @param addSlab - Adds a slab, or throws.
   * @param limit - The maximum total size of slabs, in bytes.
   */
  constructor(addSlab: () => void, limit: number) {
    this.#addSlab = addSlab;
    this.#limit = Math.min(limit, mostBytes);
    for (let size = smallest; size <= slabMostBytes; size *= 2) this.#queues.push(new RangeQueue(size));
  }

  /** Takes a range of at least `bytes` (at most slabMostBytes). Returns its position, or -1 at the limit. */
  take(bytes: number): number {
    const queue = this.#queue(bytes);
    if (queue.empty) {
      if (this.#next === this.#bytes) {
        if (this.#bytes + slabBytes > Math.max(this.#limit, slabBytes)) return -1;
        this.#addSlab();
        this.#bytes += slabBytes;
      }
      for (let offset = 0; offset < pieceBytes; offset += queue.size)
        queue.push((this.#next + offset) / slabUnit);
      this.#next += pieceBytes;
    }
    return queue.take();
  }

  /** Forgets all ranges, none of which may be in use. The slabs then have `bytes` bytes in total. */
  clear(bytes: number): void {
    for (const queue of this.#queues) queue.clear();
    this.#bytes = bytes;
    this.#next = 0;
  }

  /** Frees the range that `take(bytes)` returned. */
  free(position: number, bytes: number): void {
    this.#queue(bytes).push(position);
  }

  #queue(bytes: number): RangeQueue {
    const number = bytes <= smallest ? 0 : 26 - Math.clz32(bytes - 1);
    const queue = this.#queues[number];
    if (!queue) throw new RangeError(`no slab range of ${bytes} bytes`);
    return queue;
  }
}
