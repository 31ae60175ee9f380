// Elements of each datatype: from text, to bytes of the wire, and back.

import { bf16, fp16 } from '../half.js';
import { told, Wrong } from './wrong.js';

/** @param accessor - The end of the names of DataView's methods. */
function wholeNumbers(accessor, size) {
  const bits = BigInt(8 * size);
  const isSigned = !accessor.includes('Uint');
  const least = isSigned ? -(1n << (bits - 1n)) : 0n;
  const most = (1n << (isSigned ? bits - 1n : bits)) - 1n;
  return {
    size,
    what: `a whole number from ${least} to ${most}`,
    parse(text) {
      if (!/^[+-]?\d+$/.test(text)) return undefined;
      const value = BigInt(text.replace(/^\+/, ''));
      return value >= least && value <= most ? value : undefined;
    },
    ofNumber: (value) =>
      Number.isInteger(value) && value >= Number(least) && value <= Number(most) ? value : undefined,
    write: (view, at, value) => view[`set${accessor}`](at, size === 8 ? BigInt(value) : Number(value), true),
    read: (view, at) => view[`get${accessor}`](at, true),
    text: String,
  };
}

/**
 * @param overflow - The smallest magnitude that is rounded to infinity.
 * @param round - Gives the nearest number of the datatype.
 */
function floats(size, overflow, round, write, read) {
  return {
    size,
    isFloat: true,
    what: `a number${overflow < Infinity ? ` between ±${Number(overflow.toPrecision(4))}` : ''}, NaN, Infinity or -Infinity`,
    parse(text) {
      if (/^([+-]?Infinity|NaN)$/.test(text)) return Number(text);
      if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return undefined;
      const value = Number(text);
      return Math.abs(value) < overflow ? value : undefined;
    },
    ofNumber: (value) => value,
    write,
    read,
    // The shortest text that is read as the same number; whole numbers have all digits.
    text(value) {
      if (Object.is(value, -0)) return '-0';
      if (Number.isSafeInteger(value)) return String(value);
      for (let digits = 1; digits <= 9; digits++) {
        const short = Number(value.toPrecision(digits));
        if (round(short) === value) return String(short);
      }
      return String(value);
    },
  };
}

const half = (format) =>
  floats(
    2,
    format.overflow,
    (value) => format.decode(format.encode(value)),
    (view, at, value) => view.setUint16(at, format.encode(value), true),
    (view, at) => format.decode(view.getUint16(at, true)),
  );

/** What an element of each datatype with elements of one size is. */
const kinds = {
  BOOL: {
    size: 1,
    what: 'true or false',
    parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
    write: (view, at, value) => view.setUint8(at, Number(value)),
    read: (view, at) => view.getUint8(at) !== 0,
    text: String,
  },
  INT8: wholeNumbers('Int8', 1),
  INT16: wholeNumbers('Int16', 2),
  INT32: wholeNumbers('Int32', 4),
  INT64: wholeNumbers('BigInt64', 8),
  UINT8: wholeNumbers('Uint8', 1),
  UINT16: wholeNumbers('Uint16', 2),
  UINT32: wholeNumbers('Uint32', 4),
  UINT64: wholeNumbers('BigUint64', 8),
  FP16: half(fp16),
  BF16: half(bf16),
  FP32: floats(
    4,
    2 ** 128 - 2 ** 103,
    Math.fround,
    (view, at, value) => view.setFloat32(at, value, true),
    (view, at) => view.getFloat32(at, true),
  ),
  FP64: floats(
    8,
    Infinity,
    (value) => value,
    (view, at, value) => view.setFloat64(at, value, true),
    (view, at) => view.getFloat64(at, true),
  ),
};

const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Whether elements are floating-point numbers. */
export const isFloat = (datatype) => kinds[datatype]?.isFloat === true;

/**
 * Reads elements.
 *
 * @param texts - One for each.
 * @throws {Wrong} For a text that is not an element of the datatype.
 */
export function valuesOf(datatype, texts) {
  const kind = kinds[datatype];
  if (kind === undefined) throw new Wrong(`expected a datatype that this page knows, not ${datatype}`);
  return texts.map((text, i) => {
    const value = kind.parse(text);
    if (value === undefined)
      throw new Wrong(`element ${i}: expected ${kind.what} but received ${told(text)}`);
    return value;
  });
}

/** The wire bytes of values. */
export function bytesOfValues(datatype, values) {
  const { size, write } = kinds[datatype];
  const bytes = new Uint8Array(size * values.length);
  const view = viewOf(bytes);
  values.forEach((value, i) => write(view, i * size, value));
  return bytes;
}

/** For so long numbers are written without a pause, in milliseconds; and for so many, the time is not looked at. */
const sliceMs = 12;
const sliceCount = 4096;

/** Lets the browser draw, and hear keys. */
const pause = () => new Promise((resolve) => setTimeout(resolve));

/**
 * The wire bytes of numbers, without a list of them. The page stays usable meanwhile.
 *
 * @param each - Calls a function with the index and the number of each element, from one place to another one.
 * @param places - How many there are.
 * @throws {Wrong} For a number that is not an element of the datatype.
 */
export async function bytesOfNumbers(datatype, count, each, places) {
  const { size, what, ofNumber, write } = kinds[datatype];
  const bytes = new Uint8Array(size * count);
  const view = viewOf(bytes);
  const put = (i, number) => {
    const value = ofNumber(number);
    if (value === undefined) throw new Wrong(`element ${i}: expected ${what} but received ${number}`);
    write(view, i * size, value);
  };
  let begun = performance.now();
  for (let from = 0; from < places; from += sliceCount) {
    each(put, from, Math.min(places, from + sliceCount));
    if (performance.now() - begun < sliceMs) continue;
    await pause();
    begun = performance.now();
  }
  return bytes;
}

/** The first values of wire bytes, and how many there are. */
export function valuesOfBytes(datatype, bytes, most) {
  const { size, read } = kinds[datatype];
  const count = Math.floor(bytes.byteLength / size);
  const view = viewOf(bytes);
  return { values: Array.from({ length: Math.min(count, most) }, (_, i) => read(view, i * size)), count };
}

/** A value as text, from which it can be read again. */
export const textOfValue = (datatype, value) => kinds[datatype].text(value);
