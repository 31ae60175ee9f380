/** Reads an array of strings from the bytes of JSON straight into the wire layout of BYTES. */

import { isUtf8 } from 'node:buffer';
import { element, ended, inside, Nesting } from './json-nesting.js';

const prefixBytes = 4;

/** An array of strings that was read. */
export interface Texts {
  readonly wire: Uint8Array<ArrayBuffer>;
  /** The offset of the array's end. */
  readonly end: number;
}

/** Gets the start and end of a string's bytes. */
type Visit = (start: number, end: number) => void;

/** The end of the string whose opening quote is just before `at`; -1 if the string has an escape. */
function endOfText(bytes: Buffer, at: number): number {
  for (let i = at; ; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === 0x22) return i;
    if (byte < 0x20 || byte === 0x5c) return -1;
  }
}

/**
 * Calls `visit` for each string. Returns the offset of the array's end, or -1 for text that the parser has to read.
 */
function walk(bytes: Buffer, at: number, visit: Visit): number {
  const nesting = new Nesting();
  for (let i = at; ;) {
    const found = nesting.take(bytes[i++] ?? 0);
    if (found === inside) continue;
    if (found === ended) return i;
    // The byte before `i` is the string's opening quote.
    const end = found === element && bytes[i - 1] === 0x22 ? endOfText(bytes, i) : -1;
    if (end < 0) return -1;
    visit(i, end);
    i = end + 1;
  }
}

/**
 * Reads an array, flat or nested, of `count` strings.
 *
 * @param at - The offset of the array.
 * @returns Undefined for text that the parser has to read: errors, and strings with escapes.
 */
export function readTexts(bytes: Buffer, at: number, count: number): Texts | undefined {
  let found = 0;
  let size = 0;
  const end = walk(bytes, at, (start, stop) => {
    found++;
    size += prefixBytes + stop - start;
  });
  if (end < 0 || found !== count || !isUtf8(bytes.subarray(at, end))) return undefined;
  const wire = new Uint8Array(size);
  let to = 0;
  walk(bytes, at, (start, stop) => {
    const length = stop - start;
    wire[to] = length;
    wire[to + 1] = length >>> 8;
    wire[to + 2] = length >>> 16;
    wire[to + 3] = length >>> 24;
    to += prefixBytes;
    if (length > 64) wire.set(bytes.subarray(start, stop), to);
    else for (let i = 0; i < length; i++) wire[to + i] = bytes[start + i] ?? 0;
    to += length;
  });
  return { wire, end };
}
