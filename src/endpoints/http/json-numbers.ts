/**
 * Reads an array of numbers from the bytes of JSON straight into a tensor's memory, without an intermediate array.
 *
 * json-texts.ts has the same states of brackets and commas. A shared object with these states takes 1.1 to 1.4
 * times as long for an element.
 */

/** A number of so many digits, read as an integer without its point, is below 2^53 and exact. */
const exactDigits = 15;
/**
 * Exact powers of ten. An exact integer divided by an exact power is rounded once, as the number itself would be.
 */
const powers = Array.from({ length: exactDigits + 1 }, (_, i) => 10 ** i);
/** The limits of depth and of arrays here. Text beyond them is left to the parser, which has its own limits. */
const mostDepth = 32;
const mostArrays = 4096;

/** The range of a tensor's elements. */
export interface NumberRange {
  /** Whether the elements must be written without a point. */
  readonly integers: boolean;
  readonly least: number;
  readonly most: number;
}

/** The memory of a tensor, to be filled. */
export type NumberArray = Record<number, number> & { readonly length: number };

/** The byte at `at`; 0 past the end. JSON contains no byte 0. */
function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** States: the tokens that may come next. */
const value = 0;
const valueOrEnd = 1;
const commaOrEnd = 2;

/**
 * Reads an array, flat or nested, that has as many numbers as `into`.
 *
 * @param at - The offset of the array.
 * @returns The offset of its end; -1 for text that the parser has to read: errors, exponents, and integers of many
 *   digits. `into` may then have been partly written.
 */
export function readNumbers(
  bytes: Buffer,
  at: number,
  into: NumberArray,
  { integers, least, most }: NumberRange,
): number {
  let next = value;
  let depth = 0;
  let arrays = 0;
  let count = 0;
  let i = at;
  for (;;) {
    let byte = byteAt(bytes, i++);
    if (isSpace(byte)) continue;
    if (byte === 0x5d && next !== value && depth > 0) {
      if (--depth === 0) return count === into.length ? i : -1;
      next = commaOrEnd;
    } else if (next === commaOrEnd) {
      if (byte !== 0x2c) return -1;
      next = value;
    } else if (byte === 0x5b) {
      if (++depth > mostDepth || ++arrays > mostArrays) return -1;
      next = valueOrEnd;
    } else {
      if (depth === 0 || count === into.length) return -1;
      const negative = byte === 0x2d;
      const start = i - 1;
      if (negative) byte = byteAt(bytes, i++);
      if (!isDigit(byte) || (byte === 0x30 && isDigit(byteAt(bytes, i)))) return -1;
      let digits = 1;
      let number = byte - 0x30;
      for (; isDigit((byte = byteAt(bytes, i))); i++, digits++) number = number * 10 + (byte - 0x30);
      if (byte === 0x2e) {
        const point = i++;
        for (; isDigit((byte = byteAt(bytes, i))); i++, digits++) number = number * 10 + (byte - 0x30);
        const fraction = i - point - 1;
        if (integers || fraction === 0) return -1;
        if (digits <= exactDigits) number /= powers[fraction] ?? 1;
      }
      if (byte === 0x65 || byte === 0x45) return -1;
      if (digits > exactDigits) {
        // `number` has lost digits here, so floats are parsed from the text.
        if (integers) return -1;
        number = Number(bytes.toString('latin1', start, i));
      } else if (negative) number = -number;
      if (number < least || number > most) return -1;
      into[count++] = number;
      next = commaOrEnd;
    }
  }
}
