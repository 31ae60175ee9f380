/** Elements that a request writes as numbers and texts of Protocol Buffers: `InferTensorContents`. */

import { invalidArgument, type TritonError } from '../../../errors.js';
import { BytesWriter } from '../../../tensor/bytes.js';
import { BytesTensor } from '../../../tensor/bytes-tensor.js';
import type { Datatype } from '../../../tensor/datatype.js';
import type { TensorInput } from '../../../tensor/inputs.js';
import { elementCount, formatShape } from '../../../tensor/shape.js';
import { ProtoReader, unreadable, wireType } from './reader.js';

/** The lists, by their field's number. */
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

/** The list that elements of a datatype come in; FP16 and BF16 have none. */
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

/** How each list is written. */
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

/** An array that takes elements one after the other. Narrow integers are cut to their width, as in Triton. */
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

/** The parts of a message that have elements of one list, in their order. */
interface Found {
  readonly list: number;
  readonly parts: { readonly packed: boolean; readonly reader: ProtoReader }[];
}

function findLists(contents: ProtoReader): Found[] {
  const found: Found[] = [];
  while (!contents.done) {
    const tag = contents.tag();
    const list = tag >>> 3;
    const wire = wires[list];
    if (wire === undefined) {
      contents.skip(tag);
      continue;
    }
    let entry = found.find((one) => one.list === list);
    if (entry === undefined) found.push((entry = { list, parts: [] }));
    const type = tag & 7;
    if (type === wireType.bytes && wire !== wireType.bytes)
      entry.parts.push({ packed: true, reader: contents.message() });
    else if (type === wire) {
      const { at } = contents;
      contents.skip(tag);
      entry.parts.push({ packed: false, reader: new ProtoReader(contents.bytes, at, contents.at) });
    } else throw unreadable(`field ${lists[list] ?? list} has the wire type ${type}`);
  }
  return found.filter(({ parts }) => parts.some(({ packed, reader }) => !packed || !reader.done));
}

/** Reads one element of a list other than bytes_contents and those of 64 bits. */
function readElement(list: number, reader: ProtoReader): number {
  if (list === 1) return reader.bool() ? 1 : 0;
  if (list === 6) return reader.float();
  return list === 7 ? reader.double() : reader.varint32();
}

/** Calls `take` for every element, of which there must be `count`. */
function forEach(
  found: Found | undefined,
  count: number,
  fail: (got: string) => TritonError,
  take: (reader: ProtoReader, i: number) => void,
): void {
  let i = 0;
  for (const { reader } of found?.parts ?? []) {
    while (!reader.done) {
      if (i === count) throw fail('more');
      take(reader, i++);
    }
  }
  if (i < count) throw fail(String(i));
}

/**
 * Reads the elements of an input.
 *
 * @throws {@link TritonError} INVALID_ARG for a list of another datatype and for another number of elements than the shape
 *   has.
 * @throws {@link UnreadableMessage} For what cannot be read.
 */
export function readContents(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  contents: ProtoReader,
): TensorInput {
  const found = findLists(contents);
  const list = listOf[datatype];
  const refuse = (text: string): TritonError => invalidArgument(`input '${name}': ${text}`, { tensor: name });
  if (list === undefined)
    throw refuse(`elements of ${datatype} cannot be in 'contents'; send them in raw_input_contents`);
  const other = found.find((one) => one.list !== list);
  if (other !== undefined)
    throw refuse(`expected elements of ${datatype} in ${lists[list]} but received ${lists[other.list]}`);
  const count = elementCount(shape);
  const [given] = found;
  const fail = (got: string): TritonError =>
    refuse(`expected ${count} elements for shape ${formatShape(shape)} but received ${got}`);
  // Each element has a byte at least, so an array is never made for a shape that the message cannot fill.
  const bytes = (given?.parts ?? []).reduce((sum, { reader }) => sum + reader.end - reader.at, 0);
  if (bytes < count) throw fail(`${bytes} bytes`);
  if (datatype === 'BYTES') {
    const writer = new BytesWriter(count);
    forEach(given, count, fail, (reader) => writer.append(reader.view()));
    return new BytesTensor(shape, new Uint8Array(writer.finishOwned()));
  }
  if (datatype === 'INT64' || datatype === 'UINT64') {
    const data = datatype === 'INT64' ? new BigInt64Array(count) : new BigUint64Array(count);
    forEach(given, count, fail, (reader, i) => {
      data[i] = reader.bigint64(datatype === 'INT64');
    });
    return { data, shape, datatype };
  }
  const data = new (arrays[datatype] ?? Uint8Array)(count);
  forEach(given, count, fail, (reader, i) => {
    data[i] = readElement(list, reader);
  });
  return { data, shape, datatype };
}
