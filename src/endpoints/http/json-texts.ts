/** Reads an array of strings from the bytes of JSON straight into the wire layout of BYTES. */

import { isUtf8 } from 'node:buffer';

const prefixBytes = 4;
/** The limits of depth and of arrays here. Text beyond them is left to the parser, which has its own limits. */
const mostDepth = 32;
const mostArrays = 4096;

/** An array of strings that was read. */
export interface Texts {
  readonly wire: Uint8Array<ArrayBuffer>;
  /** The offset of the array's end. */
  readonly end: number;
}

/** Gets the start and end of a string's bytes. */
type Visit = (start: number, end: number) => void;

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** The end of the string whose opening quote is just before `at`; -1 if the string has an escape. */
function endOfText(bytes: Buffer, at: number): number {
  for (let i = at; ; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === 0x22) return i;
    if (byte < 0x20 || byte === 0x5c) return -1;
  }
}

/** States: the tokens that may come next. */
const value = 0;
const valueOrEnd = 1;
const commaOrEnd = 2;

/**
 * Calls `visit` for each string. Returns the offset of the array's end, or -1 for text that the parser has to read.
 */
function walk(bytes: Buffer, at: number, visit: Visit): number {
  let next = value;
  let depth = 0;
  let arrays = 0;
  for (let i = at; ;) {
    const byte = bytes[i++] ?? 0;
    if (isSpace(byte)) continue;
    if (byte === 0x5d && next !== value && depth > 0) {
      if (--depth === 0) return i;
      next = commaOrEnd;
    } else if (next === commaOrEnd) {
      if (byte !== 0x2c) return -1;
      next = value;
    } else if (byte === 0x5b) {
      if (++depth > mostDepth || ++arrays > mostArrays) return -1;
      next = valueOrEnd;
    } else {
      if (byte !== 0x22 || depth === 0) return -1;
      const end = endOfText(bytes, i);
      if (end < 0) return -1;
      visit(i, end);
      i = end + 1;
      next = commaOrEnd;
    }
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
