/** Fields that requests and responses of inference share: parameters, and a tensor's name, datatype and shape. */

import { invalidArgument } from '../../errors.js';
import { mostParameters } from '../../most-parameters.js';
import type { ParameterValue } from '../parameters.js';
import { unreadable, wireType, type ProtoReader } from '../protobuf/reader.js';
import type { ProtoWriter } from '../protobuf/writer.js';

/** The most inputs and outputs of a request, and parameters of an answer. Each becomes an object, however small. */
export const mostParts: number = 1 << 20;
/** The most dims of a shape. */
const mostDims = 1024;

/** @throws {@link TritonError} INVALID_ARG beyond {@link mostParts}. */
export function checkParts(count: number, what: string): void {
  if (count > mostParts) throw invalidArgument(`a message has more than ${mostParts} ${what}`);
}

const key = (field: number, type: number): number => (field << 3) | type;

/** Writes a text that is not empty. */
export function writeText(writer: ProtoWriter, field: number, value: string): void {
  if (value === '') return;
  writer.varint(key(field, wireType.bytes));
  writer.text(value);
}

/** Writes an entry of a map of `InferParameter`. */
export function writeParameter(
  writer: ProtoWriter,
  field: number,
  name: string,
  value: ParameterValue,
): void {
  writer.varint(key(field, wireType.bytes));
  const entry = writer.open();
  writer.varint(key(1, wireType.bytes));
  writer.text(name);
  writer.varint(key(2, wireType.bytes));
  const parameter = writer.open();
  if (typeof value === 'boolean') {
    writer.varint(key(1, wireType.varint));
    writer.varint(value ? 1 : 0);
  } else if (typeof value === 'string') {
    writer.varint(key(3, wireType.bytes));
    writer.text(value);
  } else if (typeof value === 'bigint' && value > 2n ** 63n - 1n) {
    writer.varint(key(5, wireType.varint));
    writer.integer(value);
  } else if (typeof value === 'bigint' || Number.isSafeInteger(value)) {
    writer.varint(key(2, wireType.varint));
    writer.integer(value);
  } else {
    writer.varint(key(4, wireType.fixed64));
    writer.double(value);
  }
  writer.close(parameter);
  writer.close(entry);
}

/** Where a tensor is in shared memory. */
interface Place {
  readonly region: string;
  readonly offset: number;
  readonly byteSize: number;
}

/** Writes the parameters of a tensor in shared memory. */
export function writeRange(writer: ProtoWriter, field: number, { region, offset, byteSize }: Place): void {
  writeParameter(writer, field, 'shared_memory_region', region);
  writeParameter(writer, field, 'shared_memory_offset', offset);
  writeParameter(writer, field, 'shared_memory_byte_size', byteSize);
}

/**
 * Writes a tensor without its bytes.
 *
 * @param place - Where it is, if it is in shared memory.
 */
export function writeTensor(
  writer: ProtoWriter,
  field: number,
  name: string,
  datatype: string,
  shape: readonly number[],
  place?: Place,
): void {
  writer.varint(key(field, wireType.bytes));
  const tensor = writer.open();
  writeText(writer, 1, name);
  writeText(writer, 2, datatype);
  writer.varint(key(3, wireType.bytes));
  const dims = writer.open();
  for (const dim of shape) writer.varint(dim);
  writer.close(dims);
  if (place !== undefined) writeRange(writer, 4, place);
  writer.close(tensor);
}

/** Kinds of `InferParameter`, by the number of the field. */
export type ParameterKind = 'none' | 'bool' | 'int64' | 'string' | 'double' | 'uint64';

/** A parameter of a message. */
export interface Parameter {
  readonly kind: ParameterKind;
  readonly value: ParameterValue;
}

function readParameter(reader: ProtoReader): Parameter {
  let found: Parameter = { kind: 'none', value: '' };
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === ((1 << 3) | wireType.varint)) found = { kind: 'bool', value: reader.bool() };
    else if (tag === ((2 << 3) | wireType.varint)) found = { kind: 'int64', value: reader.varint64(true) };
    else if (tag === ((3 << 3) | wireType.bytes)) found = { kind: 'string', value: reader.text() };
    else if (tag === ((4 << 3) | wireType.fixed64)) found = { kind: 'double', value: reader.double() };
    else if (tag === ((5 << 3) | wireType.varint)) found = { kind: 'uint64', value: reader.varint64(false) };
    else reader.skip(tag);
  }
  return found;
}

/** Parameters of a message by name. As in protobuf, the last entry of a name counts. */
export class ParameterMap extends Map<string, Parameter> {
  /** How many entries were read, repeated names included. */
  entriesRead = 0;
}

/**
 * Reads an entry of a map of parameters into `into`.
 *
 * @throws {@link TritonError} INVALID_ARG for more than `most` entries. The default is the limit for a request.
 */
export function readEntry(reader: ProtoReader, into: ParameterMap, most: number = mostParameters): void {
  // Count before reading: a name repeated a million times costs as much as a million names.
  if (++into.entriesRead > most)
    throw invalidArgument(`a message has more parameters than the limit of ${most}`);
  let name = '';
  let value: Parameter = { kind: 'none', value: '' };
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === ((1 << 3) | wireType.bytes)) name = reader.text();
    else if (tag === ((2 << 3) | wireType.bytes)) value = readParameter(reader.message());
    else reader.skip(tag);
  }
  into.set(name, value);
}

/** Reads dims into `shape`: one dim, or all dims packed. */
export function readShape(tag: number, reader: ProtoReader, shape: number[]): void {
  const part = (tag & 7) === wireType.bytes ? reader.message() : undefined;
  if (part === undefined && (tag & 7) !== wireType.varint)
    throw unreadable(`field shape has the wire type ${tag & 7}`);
  do {
    if (part?.done === true) return;
    const dim = (part ?? reader).varint64(true);
    if (typeof dim === 'bigint') throw invalidArgument(`a shape has the dim ${dim}, which is over 2^53 - 1`);
    if (shape.push(dim) > mostDims) throw invalidArgument(`a shape has more than ${mostDims} dims`);
  } while (part !== undefined);
}

/** @throws {@link UnreadableMessage} Unless a field's value is bytes, a text or a message. */
export function checkBytes(tag: number, what: string): void {
  if ((tag & 7) !== wireType.bytes) throw unreadable(`field ${what} has the wire type ${tag & 7}`);
}
