/** The wire layout of BYTES: each element is its length in 4 bytes, little-endian, followed by its bytes. */

import { isUtf8 } from 'node:buffer';
import { invalidArgument, TritonError } from '../errors.js';
import type { TypedArray } from './types.js';
import { copyInto, isDetached, kindOf, lengthOf } from './views.js';

const prefixBytes = 4;
/** Up to this length, a loop over the characters of a string is faster than calls into Node's encoder. */
const shortText = 48;
const maxElementBytes = 2 ** 32 - 1;

/** Whether a value can be an element. */
export function isBytesElement(value: unknown): value is string | Uint8Array {
  return typeof value === 'string' || kindOf(value) === 'Uint8Array';
}

/** Writes elements one after the other in wire layout. */
export class BytesWriter {
  #bytes: Buffer;
  #length = 0;

  /** @param count - How many elements will come. Memory for short ones is allocated in advance. */
  constructor(count: number) {
    this.#bytes = Buffer.allocUnsafe(Math.min(count, 2 ** 16) * 24);
  }

  /**
   * Appends a string as UTF-8, or the bytes of a Uint8Array.
   *
   * @returns False for any other value, for a string with a lone surrogate (it has no UTF-8 form), and for a
   *   detached array.
   */
  append(value: unknown): boolean {
    if (typeof value === 'string') return this.#appendText(value);
    if (kindOf(value) !== 'Uint8Array') return false;
    // A value that has a kind is a typed array.
    const element = value as TypedArray;
    const length = lengthOf(element);
    if (length > maxElementBytes || isDetached(element, 'Uint8Array')) return false;
    this.#reserve(prefixBytes + length);
    // The copy reads the length again, but it never writes beyond this buffer.
    copyInto(this.#bytes, element, this.#length + prefixBytes);
    this.#close(length);
    return true;
  }

  /**
   * The elements written so far, for a reader that copies them at once. The memory around them may hold other
   * buffers.
   */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** The elements written so far, in an ArrayBuffer of their own. */
  finishOwned(): ArrayBuffer {
    const owned = new Uint8Array(this.#length);
    owned.set(this.#bytes.subarray(0, this.#length));
    return owned.buffer;
  }

  #appendText(text: string): boolean {
    const { length } = text;
    if (length > shortText) return this.#appendLongText(text);
    this.#reserve(prefixBytes + 3 * length);
    const bytes = this.#bytes;
    const start = this.#length + prefixBytes;
    let at = start;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit < 0x80) {
        bytes[at++] = unit;
      } else if (unit < 0x800) {
        bytes[at++] = 0xc0 | (unit >> 6);
        bytes[at++] = 0x80 | (unit & 0x3f);
      } else if (unit < 0xd800 || unit > 0xdfff) {
        bytes[at++] = 0xe0 | (unit >> 12);
        bytes[at++] = 0x80 | ((unit >> 6) & 0x3f);
        bytes[at++] = 0x80 | (unit & 0x3f);
      } else {
        return this.#appendLongText(text);
      }
    }
    this.#close(at - start);
    return true;
  }

  #appendLongText(text: string): boolean {
    // With the u flag a surrogate pair is one character, so only lone surrogates match.
    if (/\p{Surrogate}/u.test(text)) return false;
    const length = Buffer.byteLength(text);
    this.#reserve(prefixBytes + length);
    this.#bytes.write(text, this.#length + prefixBytes);
    this.#close(length);
    return true;
  }

  /** Makes room for `room` bytes. */
  #reserve(room: number): void {
    const end = this.#length + room;
    if (end <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(end, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }

  /** Ends an element whose bytes are in place: writes its length before them. */
  #close(length: number): void {
    const at = this.#length;
    const bytes = this.#bytes;
    bytes[at] = length;
    bytes[at + 1] = length >>> 8;
    bytes[at + 2] = length >>> 16;
    bytes[at + 3] = length >>> 24;
    this.#length = at + prefixBytes + length;
  }
}

/**
 * Calls `visit` with the start and end of each element.
 *
 * @returns False if a length is cut off or reaches beyond the end.
 */
function forEachElement(wire: Uint8Array, visit: (start: number, end: number) => void): boolean {
  const total = wire.length;
  let at = 0;
  while (at < total) {
    const start = at + prefixBytes;
    if (start > total) return false;
    const length =
      (wire[at] ?? 0) +
      ((wire[at + 1] ?? 0) << 8) +
      ((wire[at + 2] ?? 0) << 16) +
      (wire[at + 3] ?? 0) * 2 ** 24;
    at = start + length;
    if (at > total) return false;
    visit(start, at);
  }
  return true;
}

/** The number of elements in wire bytes; -1 if the bytes end within an element. */
export function countElements(wire: Uint8Array): number {
  let count = 0;
  return forEachElement(wire, () => count++) ? count : -1;
}

/** Describes wire bytes in a message: the number of elements, or the element in which the bytes end. */
export function wordsOfWire(wire: Uint8Array): string {
  let count = 0;
  let last = 0;
  const whole = forEachElement(wire, (_start, end) => {
    count++;
    last = end;
  });
  const total = `${wire.byteLength} bytes`;
  if (whole) return `${total} of ${count} elements`;
  const left = wire.byteLength - last;
  if (left < prefixBytes)
    return `${total} that end within the length of element ${count}, which takes ${prefixBytes} bytes`;
  const length = new DataView(wire.buffer, wire.byteOffset + last, prefixBytes).getUint32(0, true);
  return `${total} that end within element ${count}: its length is ${length}, and ${left - prefixBytes} bytes are left`;
}

function checkCount(whole: boolean, found: number, count: number): void {
  if (whole && found === count) return;
  const what = whole ? `${found} elements` : `bytes that end within element ${found}`;
  throw new TritonError('INTERNAL', `a BYTES tensor of ${count} elements has ${what}`);
}

/**
 * The elements, as Buffers over the given bytes.
 *
 * @throws {@link TritonError} INTERNAL if there are not `count` of them.
 */
export function splitElements(wire: Uint8Array<ArrayBuffer>, count: number): Buffer[] {
  const { buffer, byteOffset } = wire;
  const elements: Buffer[] = [];
  const whole = forEachElement(wire, (start, end) => {
    elements.push(Buffer.from(buffer, byteOffset + start, end - start));
  });
  checkCount(whole, elements.length, count);
  return elements;
}

function decodeText(bytes: Buffer, start: number, end: number, index: number): string {
  let text: string;
  try {
    text = bytes.toString('utf8', start, end);
  } catch (cause) {
    throw invalidArgument(`element ${index} has ${end - start} bytes, too many for a string`, { cause });
  }
  // Bytes that are not UTF-8 become U+FFFD, but U+FFFD may also be part of the text.
  if (text.includes('\ufffd') && !isUtf8(bytes.subarray(start, end))) {
    throw invalidArgument(`element ${index} is not UTF-8; read 'data' for its bytes`);
  }
  return text;
}

/**
 * The elements as strings, without Buffers in between.
 *
 * @throws {@link TritonError} INVALID_ARG if one is not UTF-8.
 */
export function decodeElements(wire: Uint8Array<ArrayBuffer>, count: number): string[] {
  const bytes = Buffer.from(wire.buffer, wire.byteOffset, wire.byteLength);
  const texts: string[] = [];
  const whole = forEachElement(bytes, (start, end) => {
    texts.push(decodeText(bytes, start, end, texts.length));
  });
  checkCount(whole, texts.length, count);
  return texts;
}

/** As {@link decodeElements}, for elements that were split before. The caller may have transferred them. */
export function decodeTexts(elements: readonly Buffer[]): string[] {
  return elements.map((element, index) => {
    if (isDetached(element, 'Uint8Array')) {
      throw invalidArgument(`the buffer of element ${index} was transferred`);
    }
    return decodeText(element, 0, element.length, index);
  });
}
