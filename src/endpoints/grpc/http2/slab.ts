/**
 * The memory in which frames are written. Small parts are copied next to each other, so that they leave in one piece; large ones
 * are sent from where they lie. It is shared by the connections of an endpoint: each takes its frames before another begins.
 */

import { frameHeaderBytes, writeFrameHeader } from '../../../protocol/http2/frames.js';

const slabBytes = 256 << 10;
/** Parts up to this size are copied: one of a frame of usual size costs less so than a piece of its own in the write. */
const mostCopied = 16 << 10;

/** See the head of this file. */
export class Slab {
  #bytes: Buffer = Buffer.allocUnsafeSlow(slabBytes);
  /** Where the part begins that is not in `#parts` yet, and where it ends. */
  #from = 0;
  #at = 0;
  #parts: Buffer[] = [];
  /** Bytes of `#parts`. */
  #partBytes = 0;
  /** Where the frames began; -1: in an earlier slab. */
  #began = 0;

  /** How many bytes were written since the last {@link take}. */
  get size(): number {
    return this.#partBytes + this.#at - this.#from;
  }

  /** Writes a frame's header. */
  header(length: number, type: number, flags: number, stream: number): void {
    this.#reserve(frameHeaderBytes);
    writeFrameHeader(this.#bytes, this.#at, length, type, flags, stream);
    this.#at += frameHeaderBytes;
  }

  /** Writes bytes. They must not change until they were sent. */
  bytes(part: Buffer, from: number, end: number): void {
    const size = end - from;
    if (size <= mostCopied) {
      this.#reserve(size);
      part.copy(this.#bytes, this.#at, from, end);
      this.#at += size;
      return;
    }
    this.#close();
    this.#parts.push(part.subarray(from, end));
    this.#partBytes += size;
  }

  /** The written bytes, as pieces to be sent in order. */
  take(): readonly Buffer[] {
    this.#close();
    const parts = this.#parts;
    this.#parts = [];
    this.#partBytes = 0;
    return parts;
  }

  /** Drops the written bytes. */
  drop(): void {
    this.take();
    this.reuse();
  }

  /** Called after {@link take} if the bytes have left already, so that their memory is used again. */
  reuse(): void {
    if (this.#began < 0) return;
    this.#from = this.#at = this.#began;
  }

  /** Called when frames begin. */
  begin(): void {
    this.#began = this.#at;
  }

  #reserve(size: number): void {
    if (this.#at + size <= slabBytes) return;
    this.#close();
    this.#bytes = Buffer.allocUnsafeSlow(slabBytes);
    this.#from = this.#at = 0;
    this.#began = -1;
  }

  #close(): void {
    if (this.#at === this.#from) return;
    this.#parts.push(this.#bytes.subarray(this.#from, this.#at));
    this.#partBytes += this.#at - this.#from;
    this.#from = this.#at;
  }
}
