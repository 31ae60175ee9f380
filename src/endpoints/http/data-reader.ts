/** Reads an input's shape and `data` from the bytes of plain JSON, straight into a tensor. */

import { BytesTensor } from '../../tensor/bytes-tensor.js';
import type { Datatype } from '../../tensor/datatype.js';
import type { TensorInput } from '../../tensor/inputs.js';
import { elementCount } from '../../tensor/shape.js';
import type { TypedArray } from '../../tensor/types.js';
import { integerRanges } from '../../protocol/ranges.js';
import { readNumbers, type NumberArray, type NumberRange } from './json-numbers.js';
import { mostElements } from './json-scan.js';
import { readTexts } from './json-texts.js';

/** FP32 holds every number in this range as a finite one. FP64 values outside it are rare, and go to the parser. */
const floatRange: NumberRange = { integers: false, least: -(2 ** 127), most: 2 ** 127 };
/** Integers outside this range are left to the parser, which has BigInts. */
const longRange: NumberRange = { integers: true, least: -(10 ** 15), most: 10 ** 15 };
const unsignedRange: NumberRange = { ...longRange, least: 0 };

/** Dims of fewer digits are exact. */
const dimDigits = 15;
const mostDims = 32;

/**
 * Reads a shape: an array of integers.
 *
 * @param last - A shape that is likely to come again.
 * @returns The shape (`last` itself if equal) and the offset of its end; undefined for text that is not plain.
 */
export function readDims(
  body: Buffer,
  at: number,
  last: readonly number[],
): readonly [readonly number[], number] | undefined {
  if (body[at] !== 0x5b) return undefined;
  let i = at + 1;
  let same = true;
  const dims: number[] = [];
  while (dims.length < mostDims) {
    while (body[i] === 0x20) i++;
    const start = i;
    let dim = 0;
    for (let byte; (byte = body[i] ?? 0) >= 0x30 && byte <= 0x39; i++) dim = dim * 10 + byte - 0x30;
    // JSON allows no leading zeros.
    if (i === start || i - start > dimDigits || (body[start] === 0x30 && i - start > 1)) return undefined;
    same &&= dim === last[dims.length];
    dims.push(dim);
    while (body[i] === 0x20) i++;
    const byte = body[i++];
    if (byte === 0x5d) return [same && dims.length === last.length ? last : dims, i];
    if (byte !== 0x2c) return undefined;
  }
  return undefined;
}

/**
 * Reads the data of an input of a shape. Returns the tensor and the offset of the text's end, or undefined for text
 * that the parser has to read.
 */
export type DataReader = (
  body: Buffer,
  at: number,
  shape: readonly number[],
) => readonly [TensorInput, number] | undefined;

/**
 * The number of a shape's elements; undefined if the text is too short for them, so that no memory is allocated.
 */
function countIn(shape: readonly number[], body: Buffer, at: number): number | undefined {
  const count = elementCount(shape);
  // Each element has a character and a comma at least, and the array its brackets.
  return count <= mostElements && 2 * count < body.length - at ? count : undefined;
}

function numbers(
  datatype: Datatype,
  range: NumberRange,
  make: (count: number) => NumberArray & TypedArray,
): DataReader {
  return (body, at, shape) => {
    const count = countIn(shape, body, at);
    if (count === undefined) return undefined;
    const data = make(count);
    const end = readNumbers(body, at, data, range);
    return end < 0 ? undefined : [{ data, shape, datatype }, end];
  };
}

function longs(datatype: Datatype, range: NumberRange): DataReader {
  return (body, at, shape) => {
    const count = countIn(shape, body, at);
    if (count === undefined) return undefined;
    const found = new Float64Array(count);
    const end = readNumbers(body, at, found, range);
    if (end < 0) return undefined;
    const data = datatype === 'INT64' ? new BigInt64Array(count) : new BigUint64Array(count);
    for (let i = 0; i < count; i++) data[i] = BigInt(found[i] ?? 0);
    return [{ data, shape, datatype }, end];
  };
}

const texts: DataReader = (body, at, shape) => {
  const count = countIn(shape, body, at);
  const found = count === undefined ? undefined : readTexts(body, at, count);
  return found === undefined ? undefined : [new BytesTensor(shape, found.wire), found.end];
};

function integers(datatype: Datatype, make: (count: number) => NumberArray & TypedArray): DataReader {
  const [least, most] = integerRanges[datatype] ?? [0, 0];
  return numbers(datatype, { integers: true, least, most }, make);
}

const readers: Readonly<Partial<Record<Datatype, DataReader>>> = {
  FP32: numbers('FP32', floatRange, (count) => new Float32Array(count)),
  FP64: numbers('FP64', floatRange, (count) => new Float64Array(count)),
  INT8: integers('INT8', (count) => new Int8Array(count)),
  INT16: integers('INT16', (count) => new Int16Array(count)),
  INT32: integers('INT32', (count) => new Int32Array(count)),
  UINT8: integers('UINT8', (count) => new Uint8Array(count)),
  UINT16: integers('UINT16', (count) => new Uint16Array(count)),
  UINT32: integers('UINT32', (count) => new Uint32Array(count)),
  INT64: longs('INT64', longRange),
  UINT64: longs('UINT64', unsignedRange),
  BYTES: texts,
};

/** The reader for the data of inputs of a datatype; undefined if only the parser reads it. */
export function dataReader(datatype: Datatype): DataReader | undefined {
  return readers[datatype];
}
