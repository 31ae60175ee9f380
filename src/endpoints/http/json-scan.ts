/** Looks through JSON text before it is parsed: whether that is safe, and whether the quick parser reads it exactly. */

import { isUtf8 } from 'node:buffer';
import { invalidArgument } from '../../errors.js';

/** How deep arrays and objects may be in each other. As in Triton. */
const mostDepth = 100;
/** How many arrays, objects and members there may be: each takes some hundred bytes once it is parsed. */
const mostParts = 1 << 20;
/** How many members one object may have: with many names, the parser takes a microsecond for each. */
const mostMembers = 8192;
/** How many elements there may be, all arrays together: each is a number, or more, once it is parsed. */
export const mostElements: number = 1 << 22;
/** Integers of fewer digits are exact as numbers. */
const exactDigits = 15;

/** Numbers of fewer digits are finite, also with an exponent of two digits. */
const finiteDigits = 200;

/** How deep the dims of an input are: in the request, its inputs, one of them, and its shape. */
const shapeDepth = 4;
const shapeName = 'shape"';

/** By depth, the members of the object that is read there. */
const members = new Uint32Array(mostDepth + 1);

/** What was found. */
export interface JsonTraits {
  /** There are numbers that a number may not hold: integers not exactly, others not at all. */
  readonly longNumbers: boolean;
  /** There are numbers with a point or an exponent, such as 1.0, which no integer tensor takes. */
  readonly fractions: boolean;
  /** Some of these are in what may be an input's shape, which no datatype lets be one. */
  readonly shapeFractions: boolean;
  /** There is an N or an I outside of strings: NaN or Infinity, which JSON does not have and Triton writes. */
  readonly notFinite: boolean;
}

/**
 * Looks through a text.
 *
 * @throws {@link TritonError} INVALID_ARG for one that is too deep, has too many parts, or is not UTF-8. What is no JSON at
 *   all is left to the parser.
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
  /** Where the last string begins; in front of a bracket it is the name of the member. */
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
        // An exponent of one or two digits behind fewer than 200 makes no infinity.
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
        throw invalidArgument(`the JSON is nested more than ${mostDepth} levels deep, which is the limit`);
      members[depth] = 0;
      if (depth === shapeDepth) inShape = isNamedShape(bytes, name);
    } else if (byte === 0x2c) commas++;
    else if (byte === 0x5d || byte === 0x7d) depth--;
    else if (byte === 0x3a) {
      parts++;
      // What is no JSON may close more than it opens: such a depth has no place, and counts nothing.
      const count = (members[depth] ?? 0) + 1;
      members[depth] = count;
      if (count > mostMembers) {
        throw invalidArgument(
          `the JSON has an object with more than ${mostMembers} members, which is the limit`,
        );
      }
    } else if (byte === 0x4e || byte === 0x49) notFinite = true;
    else bits |= byte;
  }
  if (parts > mostParts) {
    throw invalidArgument(
      `the JSON has more than ${mostParts} arrays, objects and members, which is the limit: send tensors flat, or as binary data`,
    );
  }
  if (commas > mostElements) {
    throw invalidArgument(
      `the JSON has more than ${mostElements} elements, which is the limit: send tensors as binary data`,
    );
  }
  if (bits >= 0x80 && !isUtf8(bytes)) throw invalidArgument('the JSON is not UTF-8');
  return { longNumbers, fractions, shapeFractions, notFinite };
}

/** Whether a string is "shape", or begins like it and has an escape. */
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

/** What an exponent's digits stand behind. */
function isExponent(byte: number): boolean {
  return byte === 0x65 || byte === 0x45 || byte === 0x2b || byte === 0x2d;
}

/** Of the rest of a number behind its integer part. */
function isOfNumber(byte: number): boolean {
  return isDigit(byte) || byte === 0x2e || byte === 0x65 || byte === 0x45 || byte === 0x2b || byte === 0x2d;
}
