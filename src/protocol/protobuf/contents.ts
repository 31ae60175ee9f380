/** Reads tensors whose elements are typed fields of Protocol Buffers: `InferTensorContents`. */

import { invalidArgument, type TritonError } from '../../errors.js';
import { BytesWriter } from '../../tensor/bytes.js';
import { BytesTensor } from '../../tensor/bytes-tensor.js';
import type { Datatype } from '../../tensor/datatype.js';
import { elementCount, formatShape } from '../../tensor/shape.js';
import { integerRanges, outsideRange } from '../ranges.js';
import { unreadable, wireType, type ProtoReader } from './reader.js';

/** The names of the lists, by field number. */
const lists = [
  undefined,
  'bool_contents',
  'int_contents',
  'int64_contents',
  'uint_contents',
  'uint64_contents',
  'fp32_contents',
  'fp64_contents',
  'bytes_contents',
] as const;

/** The list of each datatype's elements; FP16 and BF16 have none. */
const listOf: Readonly<Partial<Record<Datatype, number>>> = {
  BOOL: 1,
  INT8: 2,
  INT16: 2,
  INT32: 2,
  INT64: 3,
  UINT8: 4,
  UINT16: 4,
  UINT32: 4,
  UINT64: 5,
  FP32: 6,
  FP64: 7,
  BYTES: 8,
};

/** The wire type of each list's elements. */
const wires: readonly number[] = [
  -1,
  wireType.varint,
  wireType.varint,
  wireType.varint,
  wireType.varint,
  wireType.varint,
  wireType.fixed32,
  wireType.fixed64,
  wireType.bytes,
];

/** An array that takes elements one after the other. */
type Elements =
  Uint8Array | Int8Array | Int16Array | Int32Array | Uint16Array | Uint32Array | Float32Array | Float64Array;

const arrays: Readonly<Partial<Record<Datatype, new (count: number) => Elements>>> = {
  BOOL: Uint8Array,
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  UINT8: Uint8Array,
  UINT16: Uint16Array,
  UINT32: Uint32Array,
  FP32: Float32Array,
  FP64: Float64Array,
};

/** The tensor made of the elements. */
export type ContentsTensor =
  | BytesTensor
  | {
      readonly data: Elements | BigInt64Array<ArrayBuffer> | BigUint64Array<ArrayBuffer>;
      readonly shape: readonly number[];
      readonly datatype: Datatype;
    };

/**
 * Reads an element of any list except bytes_contents and the 64-bit lists. It may be out of its datatype's range.
 */
function readElement(list: number, reader: ProtoReader): number | bigint {
  if (list === 1) return reader.bool() ? 1 : 0;
  if (list === 6) return reader.float();
  return list === 7 ? reader.double() : reader.varint64(list === 2);
}

/**
 * Calls `take` for every element of a list, in one pass and without a copy. A list may have hundreds of millions.
 *
 * @param other - The error for an element of another list.
 */
function forEach(
  contents: ProtoReader,
  list: number,
  other: (list: number) => TritonError,
  take: (reader: ProtoReader) => void,
): void {
  while (!contents.done) {
    const tag = contents.tag();
    const field = tag >>> 3;
    const wire = wires[field];
    if (wire === undefined) {
      contents.skip(tag);
      continue;
    }
    const type = tag & 7;
    if (type === wireType.bytes && wire !== wireType.bytes) {
      const packed = contents.message();
      if (field !== list && !packed.done) throw other(field);
      while (!packed.done) take(packed);
    } else if (type !== wire) throw unreadable(`field ${lists[field] ?? field} has the wire type ${type}`);
    else if (field !== list) throw other(field);
    else take(contents);
  }
}

/**
 * Reads the elements of a tensor.
 *
 * @param what - Whether the tensor is an input or an output, for errors.
 * @throws {@link TritonError} INVALID_ARG for a list of another datatype, for a number of elements that does not
 *   match the shape, and for values that the datatype cannot hold.
 * @throws {@link UnreadableMessage} For malformed bytes.
 */
export function readContents(
  what: 'input' | 'output',
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  contents: ProtoReader,
): ContentsTensor {
  const list = listOf[datatype];
  const refuse = (text: string): TritonError =>
    invalidArgument(`${what} '${name}': ${text}`, { tensor: name });
  if (list === undefined)
    throw refuse(`elements of ${datatype} cannot be in 'contents'; send them in raw_input_contents`);
  const count = elementCount(shape);
  const fail = (got: string): TritonError =>
    refuse(`expected ${count} elements for shape ${formatShape(shape)} but received ${got}`);
  const other = (field: number): TritonError =>
    refuse(`expected elements of ${datatype} in ${lists[list]} but received ${lists[field]}`);
  let seen = 0;
  /** Reads all elements, and checks that their number matches the shape. */
  const readAll = (take: (reader: ProtoReader, i: number) => void): void => {
    forEach(contents, list, other, (reader) => {
      if (seen === count) throw fail('more');
      take(reader, seen++);
    });
    if (seen < count) throw fail(String(seen));
  };
  // Each element takes at least one byte. If the message cannot fill the shape, no array is allocated.
  if (contents.end - contents.at < count) {
    readAll((reader) => {
      if (list === 8) reader.view();
      else readElement(list, reader);
    });
  }
  if (datatype === 'BYTES') {
    const writer = new BytesWriter(count);
    readAll((reader) => writer.append(reader.view()));
    return new BytesTensor(shape, new Uint8Array(writer.finishOwned()));
  }
  if (datatype === 'INT64' || datatype === 'UINT64') {
    const data = datatype === 'INT64' ? new BigInt64Array(count) : new BigUint64Array(count);
    readAll((reader, i) => {
      data[i] = reader.bigint64(datatype === 'INT64');
    });
    return { data, shape, datatype };
  }
  const data = new (arrays[datatype] ?? Uint8Array)(count);
  const [least, most] = integerRanges[datatype] ?? [-Infinity, Infinity];
  readAll((reader, i) => {
    const value = readElement(list, reader);
    // A bigint is outside of all ranges of these arrays. The comparisons accept NaN.
    if (typeof value === 'bigint' || value < least || value > most)
      throw outsideRange(what, name, i, value, datatype);
    data[i] = value;
  });
  return { data, shape, datatype };
}
