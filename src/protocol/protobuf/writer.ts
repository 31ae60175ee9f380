/** Writes the wire format of Protocol Buffers. */

/** Messages are written one after the other into blocks of this size. */
const blockBytes = 16 << 10;

/** The most bytes of a varint. */
const longestVarint = 10;

/**
 * See the head of this file. A writer writes one message after another. It never modifies bytes that {@link take}
 * has returned.
 */
export class ProtoWriter {
  #block: Buffer = Buffer.allocUnsafeSlow(blockBytes);
  #start = 0;
  #at = 0;

  /** Ends the message, and returns it. */
  take(): Buffer {
    const message = this.#block.subarray(this.#start, this.#at);
    this.#start = this.#at;
    // A large block is not reused for small messages, which would keep it in memory.
    if (this.#block.length > blockBytes) this.#start = this.#at = this.#block.length;
    return message;
  }

  /** Drops what was written since {@link take}. */
  drop(): void {
    this.#at = this.#start;
  }

  /** How many bytes the message has so far. */
  get size(): number {
    return this.#at - this.#start;
  }

  tag(field: number, type: number): void {
    this.varint((field << 3) | type);
  }

  /** A number from 0 to 2^53 - 1. */
  varint(value: number): void {
    this.#reserve(longestVarint);
    const block = this.#block;
    let rest = value;
    for (; rest >= 2 ** 31; rest = Math.floor(rest / 128)) block[this.#at++] = (rest % 128) | 128;
    for (; rest >= 128; rest >>>= 7) block[this.#at++] = (rest & 127) | 128;
    block[this.#at++] = rest;
  }

  /** An integer of 64 bits. Negative integers take ten bytes. */
  integer(value: number | bigint): void {
    if (typeof value === 'number' && value >= 0) {
      this.varint(value);
      return;
    }
    this.#reserve(longestVarint);
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest >= 128n; rest >>= 7n) this.#block[this.#at++] = Number(rest & 127n) | 128;
    this.#block[this.#at++] = Number(rest);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at = this.#block.writeDoubleLE(value, this.#at);
  }

  float(value: number): void {
    this.#reserve(4);
    this.#at = this.#block.writeFloatLE(value, this.#at);
  }

  /** A text, preceded by its size. */
  text(value: string): void {
    // At most three bytes per UTF-16 code unit. For most texts the size takes one byte.
    this.#reserve(longestVarint + 3 * value.length);
    const from = this.open();
    this.#at += this.#block.write(value, this.#at);
    this.close(from);
  }

  /** Bytes, preceded by their size. */
  view(value: Uint8Array): void {
    this.varint(value.length);
    this.raw(value);
  }

  /** Bytes without a size. */
  raw(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#block.set(value, this.#at);
    this.#at += value.length;
  }

  /** Leaves room for `size` bytes, which are written with {@link patch}. */
  leave(size: number): void {
    this.#reserve(size);
    this.#at += size;
  }

  /** Writes a 32-bit number, most significant byte first, at a byte of the message. */
  patch(offset: number, value: number): void {
    this.#block.writeUInt32BE(value, this.#start + offset);
  }

  /** Writes one byte at a byte of the message. */
  patchByte(offset: number, value: number): void {
    this.#block[this.#start + offset] = value;
  }

  /** Begins a nested message. Returns the argument for {@link close}. */
  open(): number {
    this.#reserve(1);
    this.#at++;
    return this.size;
  }

  /** Ends a nested message: writes its size before it, and moves its bytes if the size takes more than one byte. */
  close(from: number): void {
    const size = this.size - from;
    let more = 0;
    for (let rest = size; rest >= 128; rest = Math.floor(rest / 128)) more++;
    if (more > 0) {
      this.#reserve(more);
      const start = this.#start + from;
      this.#block.copyWithin(start + more, start, this.#at);
    }
    this.#at = this.#start + from - 1;
    this.varint(size);
    this.#at += size;
  }

  #reserve(size: number): void {
    if (this.#at + size <= this.#block.length) return;
    const written = this.size;
    // A message that outgrows a block gets a larger one.
    const needed = written + size;
    const block = Buffer.allocUnsafeSlow(Math.max(blockBytes, needed > blockBytes / 2 ? needed * 2 : needed));
    this.#block.copy(block, 0, this.#start, this.#at);
    this.#block = block;
    this.#start = 0;
    this.#at = written;
  }
}
