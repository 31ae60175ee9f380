/**
 * gRPC over HTTP/2: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md. A call is a stream. Each message has a
 * prefix: one byte for the compressed flag, four for the size. The status is sent in trailers.
 */

import { unavailable } from '../../errors.js';
import type { Budget } from './budget.js';
import { RpcError, status } from './status.js';

/** The size of a message's prefix. */
export const prefixBytes = 5;

/** The most bytes of a message: the limit of Triton. */
export const mostMessageBytes: number = 2 ** 31 - 1;

/** The longest text of an error. Clients accept 8 KiB of headers, so longer texts are cut. */
const longestText = 4 << 10;

/**
 * Encodes a status's text for a header: UTF-8, with % and all bytes beyond printable ASCII percent-encoded. So are spaces
 * at its ends: a header's value has none there, and clients drop the whole text.
 */
export function encodeText(text: string): string {
  if (text.length <= longestText && /^(?! )[ -$&-~]*$/.test(text) && !text.endsWith(' ')) return text;
  let encoded = '';
  const bytes = Buffer.from(text);
  for (const [i, byte] of bytes.entries()) {
    if (encoded.length >= longestText) break;
    const isEnd = i === 0 || i === bytes.length - 1;
    const isPlain = byte >= (isEnd ? 0x21 : 0x20) && byte <= 0x7e && byte !== 0x25;
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return encoded;
}

/** Decodes a status's text; see {@link encodeText}. Malformed escapes stay as they are. */
export function decodeText(text: string): string {
  if (!text.includes('%')) return text;
  const bytes: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const code = /^%[0-9a-f]{2}/i.test(text.slice(i, i + 3)) ? text.slice(i + 1, i + 3) : undefined;
    if (code === undefined) bytes.push(text.charCodeAt(i) & 255);
    else {
      bytes.push(parseInt(code, 16));
      i += 2;
    }
  }
  return Buffer.from(bytes).toString('utf8');
}

/** Milliseconds of each unit of `grpc-timeout`. */
const units: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/**
 * The time of a `grpc-timeout`, in milliseconds.
 *
 * @throws {@link RpcError} INTERNAL for a malformed timeout.
 */
export function readTimeout(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  if (digits !== undefined) return Number(digits) * (units[unit] ?? 0);
  throw new RpcError(
    status.internal,
    `expected up to 8 digits and a unit in grpc-timeout but received '${text}'`,
  );
}

/** Whether a content type is gRPC's with Protocol Buffers. */
export function isGrpc(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/grpc(\+proto)?\s*(;|$)/i.test(contentType);
}

/** Takes the messages that {@link MessageReader} reads. */
export interface MessageSink {
  /** Takes a message. Its bytes count as held until the sink releases them. */
  message(bytes: Buffer, compressed: boolean): void;
}

/**
 * The first size of a message's buffer. It grows as bytes arrive, so that an announced size alone allocates
 * nothing.
 */
const firstBytes = 64 << 10;
/** The growth factor of that buffer. */
const growth = 64;

/** Finds the messages in a stream's bytes. A message that comes in one chunk is a view of it. */
export class MessageReader {
  readonly #limit: number;
  readonly #budget: Budget;
  readonly #sink: MessageSink;
  /** The bytes of a prefix that is not complete yet. */
  #prefix: Buffer | undefined;
  #prefixed = 0;
  #compressed = false;
  /** The size of the message that is being collected; -1: none. */
  #size = -1;
  #buffer: Buffer = nothing;
  #at = 0;

  /** @param limit - The most bytes of a message. */
  constructor(limit: number, budget: Budget, sink: MessageSink) {
    this.#limit = limit;
    this.#budget = budget;
    this.#sink = sink;
  }

  /** Whether a message has begun and not ended. */
  get within(): boolean {
    return this.#size >= 0 || this.#prefixed > 0;
  }

  /** Drops an incomplete message. */
  drop(): void {
    this.#budget.release(this.#buffer.length);
    this.#buffer = nothing;
    this.#at = 0;
    this.#size = -1;
  }

  /**
   * Takes bytes, and passes on the messages that end in them.
   *
   * @throws {@link RpcError} RESOURCE_EXHAUSTED for a message over the limit, INTERNAL for a wrong flag.
   * @throws {@link TritonError} UNAVAILABLE if the message does not fit beside the other held bytes.
   */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#size < 0) {
        at = this.#readPrefix(chunk, at);
        if (this.#size < 0) return;
        const end = at + this.#size;
        if (end <= chunk.length) {
          this.#budget.take(this.#size);
          this.#emit(chunk.subarray(at, end));
          at = end;
          continue;
        }
      }
      at = this.#collect(chunk, at);
    }
  }

  #readPrefix(chunk: Buffer, from: number): number {
    if (this.#prefixed === 0 && chunk.length - from >= prefixBytes) {
      this.#begin(chunk, from);
      return from + prefixBytes;
    }
    const prefix = (this.#prefix ??= Buffer.alloc(prefixBytes));
    const taken = Math.min(prefixBytes - this.#prefixed, chunk.length - from);
    chunk.copy(prefix, this.#prefixed, from, from + taken);
    this.#prefixed += taken;
    if (this.#prefixed === prefixBytes) {
      this.#prefixed = 0;
      this.#begin(prefix, 0);
    }
    return from + taken;
  }

  #begin(prefix: Buffer, at: number): void {
    const flag = prefix[at];
    if (flag !== 0 && flag !== 1)
      throw new RpcError(status.internal, `a message's prefix begins with ${flag}, which is neither 0 nor 1`);
    const size = prefix.readUInt32BE(at + 1);
    // A message beyond the whole budget is too large, not UNAVAILABLE: a retry would not help.
    const most = this.#budget.max;
    if (size > this.#limit || size > most) {
      const which =
        size > this.#limit ? `${this.#limit} bytes (maxRequestBytes)` : `${most} bytes (maxHeldBytes)`;
      throw new RpcError(status.resourceExhausted, `a message has ${size} bytes, over the limit of ${which}`);
    }
    this.#compressed = flag === 1;
    this.#size = size;
  }

  /** Takes bytes of a message that comes in several chunks. */
  #collect(chunk: Buffer, from: number): number {
    const taken = Math.min(this.#size - this.#at, chunk.length - from);
    const needed = this.#at + taken;
    if (needed > this.#buffer.length) this.#grow(needed);
    chunk.copy(this.#buffer, this.#at, from, from + taken);
    this.#at = needed;
    if (needed === this.#size) {
      const message = this.#buffer;
      this.#buffer = nothing;
      this.#at = 0;
      this.#emit(message);
    }
    return from + taken;
  }

  #grow(needed: number): void {
    const capacity = Math.min(this.#size, Math.max(firstBytes, growth * needed));
    this.#budget.take(capacity - this.#buffer.length);
    // The end is aligned to 8. Tensors come last in a message, and their sizes mostly are multiples of 8, so they
    // are aligned.
    const pad = (8 - (capacity % 8)) % 8;
    const buffer = allocate(pad + capacity).subarray(pad);
    this.#buffer.copy(buffer, 0, 0, this.#at);
    this.#buffer = buffer;
  }

  #emit(bytes: Buffer): void {
    this.#size = -1;
    this.#sink.message(bytes, this.#compressed);
  }
}

const nothing = Buffer.alloc(0);

function allocate(size: number): Buffer {
  try {
    return Buffer.allocUnsafeSlow(size);
  } catch (cause) {
    throw unavailable('NO_MEMORY', `there is no memory for a message of ${size} bytes`, { cause });
  }
}
