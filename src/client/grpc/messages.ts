/** Requests and answers as messages of `inference.GRPCInferenceService`. */

import { streamCodeName, streamReasonName } from '../../protocol/statuses.js';
import { codeNamed, reasonNamed, TritonError } from '../../errors.js';
import { mostMessageBytes, prefixBytes } from '../../protocol/grpc/framing.js';
import {
  checkBytes,
  mostParts,
  ParameterMap,
  readEntry,
  readShape,
  writeParameter,
  writeRange,
  writeTensor,
  writeText,
} from '../../protocol/grpc/infer-fields.js';
import { readContents } from '../../protocol/protobuf/contents.js';
import { Messages } from '../../protocol/protobuf/messages.js';
import { ProtoReader, wireType } from '../../protocol/protobuf/reader.js';
import { ProtoWriter } from '../../protocol/protobuf/writer.js';
import { BytesTensor, wireOf } from '../../tensor/bytes-tensor.js';
import { datatypeNumber, datatypeSize, type Datatype } from '../../tensor/datatype.js';
import { elementCount } from '../../tensor/shape.js';
import { unreadable } from '../failures.js';
import type { ParameterValue } from '../../protocol/parameters.js';
import type { ModelName, WireAnswer, WireOutput, WireRequest } from '../protocol.js';
import { thrownText } from '../../thrown-text.js';

/**
 * The maximum number of fields of an answer, including nested messages. Each field becomes an object, however
 * few bytes it has.
 */
const mostFields = 4 << 20;

const messages = new Messages('inference', mostFields);
const writer = new ProtoWriter();

/** Inputs up to this size are copied behind the message's head, which is cheaper than another write. */
const smallInput = 4 << 10;

const key = (field: number): number => (field << 3) | wireType.bytes;

/** Writes a message from an object of its fields, with its prefix. */
export function messageOf(type: string, fields: object): Buffer[] {
  const message = messages.write(type, fields);
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt32BE(message.length, 1);
  return [Buffer.concat([prefix, message])];
}

/**
 * Reads an answer as an object of its fields.
 *
 * @param whole - Whether absent fields get their defaults.
 * @throws {@link TritonError} INTERNAL if the bytes are not such a message.
 */
export function fieldsOf(type: string, bytes: Buffer, whole: boolean): object {
  try {
    return whole ? messages.readWhole(type, bytes) : messages.read(type, bytes).fields;
  } catch (cause) {
    const why = thrownText(cause);
    throw new TritonError('INTERNAL', `the server's answer cannot be read: ${why}`, { cause });
  }
}

/** Writes `ModelInferRequest`, with its prefix. */
export function writeInferRequest({ name, version = '' }: ModelName, request: WireRequest): Buffer[] {
  const { id, parameters, inputs, outputs = [] } = request;
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    writer.leave(prefixBytes);
    writer.patchByte(0, 0);
    writeText(writer, 1, name);
    writeText(writer, 2, version);
    writeText(writer, 3, id);
    for (const [parameter, value] of parameters) {
      // Triton takes an id of 64 bits only as an integer with a sign.
      const id = parameter === 'sequence_id' && typeof value === 'bigint';
      writeParameter(writer, 4, parameter, id ? BigInt.asIntN(64, value) : value);
    }
    for (const { name: input, datatype, shape, place } of inputs)
      writeTensor(writer, 5, input, datatype, shape, place);
    for (const output of outputs) {
      writer.varint(key(6));
      const from = writer.open();
      writeText(writer, 1, output.name);
      if (output.classes > 0) writeParameter(writer, 2, 'classification', output.classes);
      if (output.place !== undefined) writeRange(writer, 2, output.place);
      writer.close(from);
    }
    for (const { bytes, place } of inputs) {
      if (place !== undefined) continue;
      writer.varint(key(7));
      writer.varint(bytes.byteLength);
      if (bytes.byteLength <= smallInput) writer.raw(bytes);
      else {
        size += writer.size + bytes.byteLength;
        pieces.push(writer.take(), Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      }
    }
    size += writer.size;
    if (writer.size > 0) pieces.push(writer.take());
  } catch (error) {
    writer.drop();
    throw error;
  }
  if (size - prefixBytes > mostMessageBytes)
    throw new TritonError(
      'INVALID_ARG',
      `model '${name}': the request has ${size} bytes; a message of gRPC has ${mostMessageBytes} at most`,
      { model: name },
    );
  pieces[0]?.writeUInt32BE(size - prefixBytes, 1);
  return pieces;
}

/** An output without its bytes. */
interface Described {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly contents: ProtoReader | undefined;
}

function readOutput(reader: ProtoReader): Described {
  let name = '';
  let datatype = '';
  let contents: ProtoReader | undefined;
  const shape: number[] = [];
  while (!reader.done) {
    const tag = reader.tag();
    const field = tag >>> 3;
    if (field === 3) readShape(tag, reader, shape);
    else if (field > 5 || field === 4) reader.skip(tag);
    else {
      checkBytes(tag, 'of an output');
      if (field === 1) name = reader.text();
      else if (field === 2) datatype = reader.text();
      else contents = reader.message();
    }
  }
  return { name, datatype, shape, contents };
}

/** The bytes of an output that a server sent as a list of elements instead of raw bytes. */
function bytesOfContents({ name, shape, contents }: Described, datatype: Datatype): Uint8Array {
  const tensor = readContents('output', name, datatype, shape, contents ?? new ProtoReader(Buffer.alloc(0)));
  if (tensor instanceof BytesTensor) return wireOf(tensor) ?? new Uint8Array(0); // Nobody has read its elements yet.
  const { buffer, byteOffset, byteLength } = tensor.data;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function isDatatype(value: string): value is Datatype {
  return Object.hasOwn(datatypeNumber, value);
}

function outputOf(
  model: string,
  described: Described,
  raw: Buffer | undefined,
  stored: ReadonlySet<string>,
): WireOutput {
  const { name, datatype, shape, contents } = described;
  if (!isDatatype(datatype) || !shape.every((dim) => dim >= 0))
    throw unreadable(model, `output '${name}' has no datatype or shape`);
  if (stored.has(name)) {
    if ((raw === undefined || raw.length === 0) && contents === undefined)
      return { name, datatype, shape, bytes: new ArrayBuffer(0), stored: true };
    throw unreadable(model, `output '${name}' came in the answer, and not in shared memory`);
  }
  const bytes = raw ?? bytesOfContents(described, datatype);
  if (datatype !== 'BYTES' && bytes.byteLength !== elementCount(shape) * datatypeSize[datatype])
    throw unreadable(model, `output '${name}' has ${bytes.byteLength} bytes, which do not match its shape`);
  return { name, datatype, shape, bytes: new Uint8Array(bytes).buffer };
}

/** The parameter that marks each response of a stream. */
const finalName = 'triton_final_response';

/**
 * Reads `ModelInferResponse`, without the parameter that says whether a response of a stream is the last: the stream's end
 * says it. Servers send an empty last response only to clients that ask for it, and this one does not. So a response
 * without outputs is one of the model's.
 *
 * @param stored - Outputs that are in shared memory, and not in the answer.
 * @throws {@link TritonError} INTERNAL if the bytes are not such a message.
 */
export function readInferResponse(
  model: string,
  reader: ProtoReader,
  stored: ReadonlySet<string>,
): WireAnswer {
  try {
    let name = '';
    let version = '';
    let id = '';
    const parameters = new ParameterMap();
    const outputs: ProtoReader[] = [];
    const raw: Buffer[] = [];
    while (!reader.done) {
      const tag = reader.tag();
      const field = tag >>> 3;
      if (field > 6) {
        reader.skip(tag);
        continue;
      }
      checkBytes(tag, 'of the response');
      if (field === 1) name = reader.text();
      else if (field === 2) version = reader.text();
      else if (field === 3) id = reader.text();
      else if (field === 4) readEntry(reader.message(), parameters, mostParts);
      else if (field === 5) outputs.push(reader.message());
      else raw.push(reader.view());
    }
    parameters.delete(finalName);
    const told: [string, ParameterValue][] = [...parameters].map(([one, { value }]) => [one, value]);
    return {
      model: { name: name === '' ? model : name, version },
      id,
      parameters: Object.fromEntries(told),
      outputs: outputs.map((one, i) => outputOf(model, readOutput(one), raw[i], stored)),
    };
  } catch (error) {
    if (error instanceof TritonError && error.code === 'INTERNAL') throw error;
    throw unreadable(model, thrownText(error), error);
  }
}

/** Reads `ModelStreamInferResponse`: a response or an error. */
export function readStreamResponse(
  model: string,
  bytes: Buffer,
): { readonly error: TritonError } | { readonly answer: WireAnswer } {
  const reader = new ProtoReader(bytes);
  let error = '';
  let response: ProtoReader | undefined;
  try {
    while (!reader.done) {
      const tag = reader.tag();
      if (tag === key(1)) error = reader.text();
      else if (tag === key(2)) response = reader.message();
      else reader.skip(tag);
    }
  } catch (cause) {
    throw unreadable(model, thrownText(cause), cause);
  }
  const answer = readInferResponse(model, response ?? new ProtoReader(Buffer.alloc(0)), new Set());
  if (error === '') return { answer };
  // Other servers send neither parameter.
  const { [streamCodeName]: code, [streamReasonName]: reason } = answer.parameters;
  return {
    error: new TritonError(codeNamed(code) ?? 'UNKNOWN', error, { model, reason: reasonNamed(reason) }),
  };
}
