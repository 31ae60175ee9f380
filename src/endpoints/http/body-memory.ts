/**
 * Memory of large bodies, which is used again: to make new memory for each costs page faults, and collections by V8, which
 * counts it.
 */

/** Bodies below this size get memory that nobody keeps. */
const least = 1 << 16;
/** How much is kept, in all and in pieces. */
const mostKept = 16 << 20;
const mostPieces = 16;

/** See the head of this file. */
export class BodyMemory {
  /** Nobody uses these; the one that was given back last is the last one. */
  readonly #kept: ArrayBuffer[] = [];
  #bytes = 0;
  /** Memory that came from here. */
  readonly #own: WeakSet<object> = new WeakSet();

  /** Memory, whatever it contains, in which byte `align` lies at a multiple of 8. */
  take(size: number, align: number): Buffer {
    const pad = (8 - (align % 8)) % 8;
    const room = pad + size;
    if (room < least) return Buffer.allocUnsafeSlow(room).subarray(pad);
    const at = this.#kept.findLastIndex(({ byteLength }) => byteLength >= room && byteLength < 2 * room);
    const [found] = at < 0 ? [] : this.#kept.splice(at, 1);
    if (found === undefined) {
      const { buffer } = Buffer.allocUnsafeSlow(room);
      this.#own.add(buffer);
      return Buffer.from(buffer, pad, size);
    }
    this.#bytes -= found.byteLength;
    return Buffer.from(found, pad, size);
  }

  /** Gives a body's memory back, if it came from here. Nobody may read it any more. */
  giveBack({ buffer }: Buffer): void {
    if (!(buffer instanceof ArrayBuffer) || !this.#own.has(buffer) || buffer.byteLength > mostKept) return;
    this.#kept.push(buffer);
    this.#bytes += buffer.byteLength;
    while (this.#bytes > mostKept || this.#kept.length > mostPieces)
      this.#bytes -= this.#kept.shift()?.byteLength ?? 0;
  }
}
