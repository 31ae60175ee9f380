/** Scans JSON text before parsing: checks limits, and finds out whether `JSON.parse` would read it exactly. */

import { isUtf8 } from 'node:buffer';
import { invalidArgument } from '../../errors.js';

/** The limit of nesting of arrays and objects. As in Triton. */
const mostDepth = 100;
/** The most arrays, objects and members. Each takes some hundred bytes once it is parsed. */
const mostParts = 1 << 20;
/** The most members of one object. With many names, the parser takes a microsecond for each. */
const mostMembers = 8192;
/** The most elements of all arrays together. Each becomes a number, or a larger value, once it is parsed. */
export const mostElements: number = 1 << 22;
/** Integers of fewer digits are exact as numbers. */
const exactDigits = 15;

/** Numbers of fewer digits are finite, even with an exponent of two digits. */
const finiteDigits = 200;

/** The depth of an input's dims: the request, its inputs, an input, and its shape. */
const shapeDepth = 4;
const shapeName = 'shape"';

/** By depth: the members counted so far in the object that is being read. */
const members = new Uint32Array(mostDepth + 1);

/** The findings of a scan. */
export interface JsonTraits {
  /** Whether a number may be inexact (a long integer) or infinite as a JavaScript number. */
  readonly longNumbers: boolean;
  /** Whether a number has a point or an exponent, such as 1.0, which integer tensors refuse. */
  readonly fractions: boolean;
  /** Whether such a number may be a dim of an input's shape, which is an error for every datatype. */
  readonly shapeFractions: boolean;
  /**
   * Whether there is an N or an I outside of strings: NaN or Infinity, which Triton writes although JSON lacks
   * them.
   */
  readonly notFinite: boolean;
  /** How many arrays, objects, members and elements there are; strings are not looked into. */
  readonly parts: number;
}

/**
 * Looks through a text.
 *
 * @throws {@link TritonError} INVALID_ARG for a text that is too deep, has too many parts, or is not UTF-8. Other
 *   errors are left to the parser.
 */
export function scanJson(bytes: Uint8Array): JsonTraits {
  const end = bytes.length;
  let depth = 0;
  let parts = 0;
  let commas = 0;
  let longNumbers = false;
  let fractions = false;
  let shapeFractions = false;
  let notFinite = false;
  /** The offset of the last string. Before a bracket, that string is the member's name. */
  let name = 0;
  let inShape = false;
  let bits = 0;
  let i = 0;
  while (i < end) {
    const byte = bytes[i++] ?? 0;
    if (byte >= 0x30 && byte <= 0x39) {
      let digits = 1;
      while (i < end && isDigit(bytes[i] ?? 0)) {
        digits++;
        i++;
      }
      const next = bytes[i] ?? 0;
      if (next === 0x2e || next === 0x65 || next === 0x45) {
        fractions = true;
        if (inShape && depth >= shapeDepth) shapeFractions = true;
        let exponent = end;
        for (; i < end && isOfNumber(bytes[i] ?? 0); i++) if (isExponent(bytes[i] ?? 0)) exponent = i + 1;
        // Fewer than 200 digits with an exponent of up to two digits are always finite.
        if (digits > finiteDigits || i - exponent > 2) longNumbers = true;
      } else if (digits > exactDigits) longNumbers = true;
    } else if (byte === 0x22) {
      name = i;
      for (; i < end; i++) {
        const one = bytes[i] ?? 0;
        bits |= one;
        if (one === 0x5c) i++;
        else if (one === 0x22) break;
      }
      i++;
    } else if (byte === 0x5b || byte === 0x7b) {
      parts++;
      if (++depth > mostDepth)
        throw invalidArgument(`the JSON is nested deeper than the limit of ${mostDepth} levels`);
      members[depth] = 0;
      if (depth === shapeDepth) inShape = isNamedShape(bytes, name);
    } else if (byte === 0x2c) commas++;
    else if (byte === 0x5d || byte === 0x7d) depth--;
    else if (byte === 0x3a) {
      parts++;
      // Invalid JSON may close more brackets than it opens. A negative depth is outside of `members`, and is not
      // counted.
      const count = (members[depth] ?? 0) + 1;
      members[depth] = count;
      if (count > mostMembers) {
        throw invalidArgument(`the JSON has an object with more members than the limit of ${mostMembers}`);
      }
    } else if (byte === 0x4e || byte === 0x49) notFinite = true;
    else bits |= byte;
  }
  if (parts > mostParts) {
    throw invalidArgument(
      `the JSON has more arrays, objects and members than the limit of ${mostParts}: send tensors flat, or as binary data`,
    );
  }
  if (commas > mostElements) {
    throw invalidArgument(
      `the JSON has more elements than the limit of ${mostElements}: send tensors as binary data`,
    );
  }
  if (bits >= 0x80 && !isUtf8(bytes)) throw invalidArgument('the JSON is not UTF-8');
  return { longNumbers, fractions, shapeFractions, notFinite, parts: parts + commas };
}

/** Whether a string is "shape", or begins like "shape" and continues with an escape. */
function isNamedShape(bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < shapeName.length; i++) {
    const byte = bytes[start + i];
    if (byte === 0x5c) return true;
    if (byte !== shapeName.charCodeAt(i)) return false;
  }
  return true;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** Whether a byte may come before an exponent's digits: e, E, + or -. */
function isExponent(byte: number): boolean {
  return byte === 0x65 || byte === 0x45 || byte === 0x2b || byte === 0x2d;
}

/** Whether a byte may be in a number after its integer part. */
function isOfNumber(byte: number): boolean {
  return isDigit(byte) || byte === 0x2e || byte === 0x65 || byte === 0x45 || byte === 0x2b || byte === 0x2d;
}
