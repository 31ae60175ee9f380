/** Reads the wire format of Protocol Buffers: https://protobuf.dev/programming-guides/encoding/ */

import { RpcError, status } from '../grpc/status.js';

/** The wire types of fields. */
export const wireType = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/**
 * Bytes are not a valid message. This is the client's fault, but gRPC's specification requires INTERNAL for it, and
 * for failed decompression: https://github.com/grpc/grpc/blob/master/doc/statuscodes.md. INVALID_ARGUMENT is for
 * valid messages.
 */
export class UnreadableMessage extends RpcError {
  constructor(why: string) {
    super(status.internal, `the message cannot be read: ${why}`);
  }
}

/** The error for bytes that are not a valid message. */
export function unreadable(why: string): UnreadableMessage {
  return new UnreadableMessage(why);
}

const strictText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Texts up to this length are checked byte by byte; longer texts go to a decoder at once. */
const shortText = 64;

/** See the head of this file. It reads a range of `bytes`, and never beyond it. */
export class ProtoReader {
  readonly bytes: Buffer;
  /** The offset of the next byte. */
  at: number;
  readonly end: number;

  constructor(bytes: Buffer, at = 0, end: number = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get done(): boolean {
    return this.at >= this.end;
  }

  /** A field's number and wire type: `number << 3 | type`. */
  tag(): number {
    const tag = this.varint32();
    if (tag >>> 3 === 0) throw unreadable(`the tag ${tag} at byte ${this.at} has no field number`);
    return tag;
  }

  /** The lower 32 bits of a varint, unsigned. */
  varint32(): number {
    const { bytes } = this;
    const first = this.at < this.end ? bytes[this.at] : undefined;
    if (first !== undefined && first < 128) {
      this.at++;
      return first;
    }
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte();
      if (shift < 32) value |= (byte & 127) << shift;
      if (byte < 128) return value >>> 0;
    }
    throw unreadable(`the integer before byte ${this.at} has more than 10 bytes`);
  }

  /** A varint of 64 bits; a bigint only if a number would not be exact. */
  varint64(signed: boolean): number | bigint {
    const start = this.at;
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte();
      const part = byte & 127;
      if (shift === 63 && byte > 1) throw unreadable(`the integer at byte ${start} has more than 64 bits`);
      if (shift < 28) low |= part << shift;
      else if (shift === 28) {
        low |= part << 28;
        high = part >>> 4;
      } else high |= part << (shift - 32);
      if (byte < 128) return joined(low, high, signed);
    }
    throw unreadable(`the integer at byte ${start} has more than 10 bytes`);
  }

  /** A varint of 64 bits as a bigint. */
  bigint64(signed: boolean): bigint {
    return BigInt(this.varint64(signed));
  }

  bool(): boolean {
    return this.varint64(false) !== 0;
  }

  float(): number {
    return this.bytes.readFloatLE(this.#skipped(4));
  }

  double(): number {
    return this.bytes.readDoubleLE(this.#skipped(8));
  }

  /** The size of the value that follows. Checks that all its bytes are present. */
  size(): number {
    const size = this.varint32();
    if (size > this.end - this.at)
      throw unreadable(`a field has ${size} bytes, but only ${this.end - this.at} are left`);
    return size;
  }

  /** The bytes of a field, as a view. */
  view(): Buffer {
    const size = this.size();
    this.at += size;
    return this.bytes.subarray(this.at - size, this.at);
  }

  text(): string {
    const size = this.size();
    const start = this.at;
    const end = start + size;
    this.at = end;
    if (size === 0) return '';
    if (size <= shortText) {
      let high = 0;
      for (let i = start; i < end; i++) high |= this.bytes[i] ?? 0;
      if (high < 128) return this.bytes.toString('latin1', start, end);
    }
    try {
      return strictText.decode(this.bytes.subarray(start, end));
    } catch {
      throw unreadable(`the text at byte ${start} is not UTF-8`);
    }
  }

  /** A reader of a message within this one. */
  message(): ProtoReader {
    const size = this.size();
    this.at += size;
    return new ProtoReader(this.bytes, this.at - size, this.at);
  }

  /** Skips an unknown field. */
  skip(tag: number): void {
    const type = tag & 7;
    if (type === wireType.varint) this.varint32();
    else if (type === wireType.fixed64) this.#skipped(8);
    else if (type === wireType.bytes) this.view();
    else if (type === wireType.fixed32) this.#skipped(4);
    else throw unreadable(`field ${tag >>> 3} has the wire type ${type}, which proto3 does not have`);
  }

  #byte(): number {
    const byte = this.at < this.end ? this.bytes[this.at] : undefined;
    if (byte === undefined) throw unreadable('it ends inside an integer');
    this.at++;
    return byte;
  }

  #skipped(size: number): number {
    if (size > this.end - this.at) throw unreadable('it ends inside a number');
    this.at += size;
    return this.at - size;
  }
}

/** 64 bits from two halves. */
function joined(low: number, high: number, signed: boolean): number | bigint {
  if (high === 0) return low >>> 0;
  // 2^53 has the upper half 2^21.
  const top = signed ? high | 0 : high >>> 0;
  if (top < 2 ** 21 && top >= -(2 ** 21)) {
    const value = top * 2 ** 32 + (low >>> 0);
    if (Number.isSafeInteger(value)) return value;
  }
  return (BigInt(top) << 32n) | BigInt(low >>> 0);
}
