/**
 * Memory of large bodies, kept for reuse. New memory for each body costs page faults, and V8 counts it and collects
 * garbage more often.
 */

/** Bodies below this size get memory that is not reused. */
const least = 1 << 16;
/** The most memory kept: in bytes, and in pieces. */
const mostKept = 16 << 20;
const mostPieces = 16;

/** See the head of this file. */
export class BodyMemory {
  /** Free memory, in the order in which it was given back. */
  readonly #kept: ArrayBuffer[] = [];
  #bytes = 0;
  /** Memory that this pool allocated. */
  readonly #own: WeakSet<object> = new WeakSet();

  /** Uninitialized memory in which byte `align` lies at a multiple of 8. */
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

  /** Gives a body's memory back, if this pool allocated it. The caller must not read it afterwards. */
  giveBack({ buffer }: Buffer): void {
    if (!(buffer instanceof ArrayBuffer) || !this.#own.has(buffer) || buffer.byteLength > mostKept) return;
    this.#kept.push(buffer);
    this.#bytes += buffer.byteLength;
    while (this.#bytes > mostKept || this.#kept.length > mostPieces)
      this.#bytes -= this.#kept.shift()?.byteLength ?? 0;
  }
}
