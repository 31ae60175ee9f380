/** Frames: https://www.rfc-editor.org/rfc/rfc9113#section-4 */

/** The bytes with which every client begins. */
export const clientMagic: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** The size of a frame's header. */
export const frameHeaderBytes = 9;

/** The types of frames. */
export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  resetStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** Flags of frames. A bit's meaning depends on the type. */
export const frameFlag = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** Writes a frame's header. */
export function writeFrameHeader(
  to: Buffer,
  at: number,
  length: number,
  type: number,
  flags: number,
  stream: number,
): void {
  to[at] = length >>> 16;
  to[at + 1] = length >>> 8;
  to[at + 2] = length;
  to[at + 3] = type;
  to[at + 4] = flags;
  to[at + 5] = stream >>> 24;
  to[at + 6] = stream >>> 16;
  to[at + 7] = stream >>> 8;
  to[at + 8] = stream;
}

/** A frame. */
export function frameOf(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(frameHeaderBytes + payload.length);
  writeFrameHeader(frame, 0, payload.length, type, flags, stream);
  payload.copy(frame, frameHeaderBytes);
  return frame;
}

/** Takes frames. */
export interface FrameSink {
  /**
   * Takes a frame's header.
   *
   * @returns Whether the payload is to be collected and passed on whole; else it is passed on in pieces as it arrives.
   */
  begin(length: number, type: number, flags: number, stream: number): boolean;
  /** Takes a piece of the payload, or all of it if it is collected. It is valid for the time of the call only. */
  payload(bytes: Buffer): void;
  /** Tells that the frame is complete. */
  end(): void;
}

const nothing = Buffer.alloc(0);

/** Finds the frames in a connection's bytes. A payload is not copied if it lies in one chunk. */
export class FrameReader {
  readonly #sink: FrameSink;
  /** The bytes of a header that is not complete yet. */
  readonly #header: Buffer = Buffer.alloc(frameHeaderBytes);
  #headed = 0;
  /** Bytes of the payload that are missing; -1: no frame has begun. */
  #left = -1;
  #collects = false;
  #collected: Buffer = nothing;
  #at = 0;
  #stopped = false;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** Ignores all further bytes. */
  stop(): void {
    this.#stopped = true;
    this.#collected = nothing;
  }

  /** The sink may have stopped it. */
  #isStopped(): boolean {
    return this.#stopped;
  }

  /** Takes bytes. An error of the sink is thrown on; the reader is not used after it. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && !this.#stopped) {
      if (this.#left < 0) at = this.#readHeader(chunk, at);
      else if (this.#collects) at = this.#collect(chunk, at);
      else {
        const end = Math.min(chunk.length, at + this.#left);
        this.#left -= end - at;
        this.#sink.payload(chunk.subarray(at, end));
        at = end;
      }
      if (this.#left !== 0) continue;
      this.#left = -1;
      if (!this.#isStopped()) this.#sink.end();
    }
  }

  #readHeader(chunk: Buffer, from: number): number {
    if (this.#headed === 0 && chunk.length - from >= frameHeaderBytes) {
      this.#begin(chunk, from);
      return from + frameHeaderBytes;
    }
    const taken = Math.min(frameHeaderBytes - this.#headed, chunk.length - from);
    chunk.copy(this.#header, this.#headed, from, from + taken);
    this.#headed += taken;
    if (this.#headed === frameHeaderBytes) {
      this.#headed = 0;
      this.#begin(this.#header, 0);
    }
    return from + taken;
  }

  #begin(header: Buffer, at: number): void {
    const length = header.readUIntBE(at, 3);
    const type = header[at + 3] ?? 0;
    const flags = header[at + 4] ?? 0;
    this.#collects = this.#sink.begin(length, type, flags, header.readUInt32BE(at + 5) & 0x7fffffff);
    this.#left = length;
    if (length === 0 && this.#collects) this.#sink.payload(nothing);
  }

  #collect(chunk: Buffer, from: number): number {
    const available = chunk.length - from;
    if (this.#at === 0 && available >= this.#left) {
      const end = from + this.#left;
      this.#left = 0;
      this.#sink.payload(chunk.subarray(from, end));
      return end;
    }
    if (this.#at === 0) this.#collected = Buffer.allocUnsafe(this.#left);
    const taken = Math.min(available, this.#left);
    chunk.copy(this.#collected, this.#at, from, from + taken);
    this.#at += taken;
    this.#left -= taken;
    if (this.#left === 0) {
      const bytes = this.#collected;
      this.#collected = nothing;
      this.#at = 0;
      this.#sink.payload(bytes);
    }
    return from + taken;
  }
}
