/** Writes `ModelInferResponse` and `ModelStreamInferResponse`, with gRPC's prefix before them. */

import type { RequestParameters } from '../../api/request-parameters.js';
import type { InferResult } from '../../api/results.js';
import { inOrder, type Named } from '../../tensor/named-values.js';
import { StoredTensor } from '../../tensor/region-tensor.js';
import { bytesOfTensor } from '../service/tensors.js';
import { writeParameter, writeTensor, writeText } from '../../protocol/grpc/infer-fields.js';
import { wireType } from '../../protocol/protobuf/reader.js';
import { ProtoWriter } from '../../protocol/protobuf/writer.js';
import { mostMessageBytes, prefixBytes } from '../../protocol/grpc/framing.js';
import { RpcError, status } from '../../protocol/grpc/status.js';

/** Outputs up to this size are copied behind the fields before them, which is cheaper than a piece of their own. */
const smallOutput = 4 << 10;

const key = (field: number, type: number): number => (field << 3) | type;
const writer = new ProtoWriter();
/** Of an output in shared memory. */
const noBytes = Buffer.alloc(0);

/** The fields of an answer besides its outputs. */
export interface ResponseHead {
  readonly id: string;
  readonly model: string;
  readonly version: string;
  readonly parameters: RequestParameters;
}

function writeHead({ id, model, version, parameters }: ResponseHead, final: boolean | undefined): void {
  writeText(writer, 1, model);
  writeText(writer, 2, version);
  writeText(writer, 3, id);
  for (const name in parameters) {
    const value = parameters[name];
    if (value !== undefined) writeParameter(writer, 4, name, value);
  }
  if (final !== undefined) writeParameter(writer, 4, 'triton_final_response', final);
}

/** Writes a response's fields to `pieces`. A large output is a piece of its own. Returns the size in bytes. */
function writeFields(
  result: InferResult,
  asked: readonly Named[] | undefined,
  final: boolean | undefined,
  pieces: Buffer[],
): number {
  const { id, model, parameters, outputs } = result;
  writeHead({ id, model: model.name, version: model.version, parameters }, final);
  const order = inOrder(outputs, asked);
  for (const { name } of order) {
    const tensor = outputs[name];
    if (tensor !== undefined) writeTensor(writer, 5, name, tensor.datatype, tensor.shape);
  }
  let size = 0;
  for (const { name } of order) {
    const tensor = outputs[name];
    if (tensor === undefined) continue;
    const bytes = tensor instanceof StoredTensor ? noBytes : bytesOfTensor(tensor);
    writer.varint(key(6, wireType.bytes));
    writer.varint(bytes.length);
    if (bytes.length <= smallOutput) writer.raw(bytes);
    else {
      size += writer.size + bytes.length;
      pieces.push(writer.take(), bytes);
    }
  }
  size += writer.size;
  if (writer.size > 0) pieces.push(writer.take());
  return size;
}

/** A message, in pieces to be sent in order, and its size with the prefix. */
export interface Answer {
  readonly pieces: readonly Buffer[];
  readonly size: number;
}

/** Runs `write`. If it throws, the bytes that it has written are dropped. */
function written<T>(write: () => T): T {
  try {
    return write();
  } catch (error) {
    writer.drop();
    throw error;
  }
}

/** Writes the size of a message into its prefix. */
function sized(pieces: readonly Buffer[], size: number): Answer {
  if (size > mostMessageBytes) {
    const text = `the answer has ${size} bytes; a message has ${mostMessageBytes} at most`;
    throw new RpcError(status.resourceExhausted, text);
  }
  pieces[0]?.writeUInt32BE(size - prefixBytes, 1);
  return { pieces, size };
}

function leavePrefix(): void {
  writer.leave(prefixBytes);
  writer.patchByte(0, 0);
}

/**
 * `ModelInferResponse`, with the outputs in the order of the request's list, or of the configuration.
 *
 * @throws {@link RpcError} RESOURCE_EXHAUSTED for more bytes than a message may have, as all of these functions do.
 */
export function writeInferResponse(result: InferResult, asked: readonly Named[] | undefined): Answer {
  return written(() => {
    const pieces: Buffer[] = [];
    leavePrefix();
    return sized(pieces, writeFields(result, asked, undefined, pieces));
  });
}

/** `ModelStreamInferResponse` with a result. */
export function writeStreamResponse(
  result: InferResult,
  asked: readonly Named[] | undefined,
  final: boolean,
): Answer {
  return written(() => {
    const parts: Buffer[] = [];
    const inner = writeFields(result, asked, final, parts);
    leavePrefix();
    writer.varint(key(2, wireType.bytes));
    writer.varint(inner);
    const size = writer.size + inner;
    return sized([writer.take(), ...parts], size);
  });
}

/** `ModelStreamInferResponse` without outputs: the end of a decoupled model's responses, or an error. */
export function writeStreamEnd(head: ResponseHead, error: string | undefined): Answer {
  return written(() => {
    leavePrefix();
    if (error !== undefined) writeText(writer, 1, error);
    writer.varint(key(2, wireType.bytes));
    const from = writer.open();
    writeHead(head, true);
    writer.close(from);
    const { size } = writer;
    return sized([writer.take()], size);
  });
}
