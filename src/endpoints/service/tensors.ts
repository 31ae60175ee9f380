/** Converts tensors from and to raw bytes in wire layout, without a copy where possible. */

import { invalidArgument } from '../../errors.js';
import { BytesTensor, wireOf } from '../../tensor/bytes-tensor.js';
import { BytesWriter } from '../../tensor/bytes.js';
import { datatypeNumber, datatypeSize, type Datatype } from '../../tensor/datatype.js';
import { elementTypes } from '../../tensor/elements.js';
import type { TensorInput } from '../../tensor/inputs.js';
import { elementCount, formatShape } from '../../tensor/shape.js';
import type { AnyTensor } from '../../tensor/tensor.js';
import { viewOf } from '../../tensor/views.js';

/** Bytes in memory that no other thread can access. */
export type Bytes = Uint8Array<ArrayBuffer>;

/**
 * The datatype of a name.
 *
 * @throws {@link TritonError} INVALID_ARG for an unknown name.
 */
export function datatypeOfName(name: string, input: string): Datatype {
  if (Object.hasOwn(datatypeNumber, name)) return name as Datatype; // The table's keys are the datatypes.
  const known = Object.keys(datatypeNumber).join(', ');
  throw invalidArgument(`input '${input}': unknown datatype '${name}'; the datatypes are ${known}`, {
    tensor: input,
  });
}

/**
 * Checks the size of an input that is not BYTES. Returns it.
 *
 * @throws {@link TritonError} INVALID_ARG if it does not match the shape.
 */
export function checkByteSize(
  name: string,
  datatype: Exclude<Datatype, 'BYTES'>,
  shape: readonly number[],
  byteLength: number,
): number {
  const expected = elementCount(shape) * datatypeSize[datatype];
  if (byteLength === expected) return expected;
  throw invalidArgument(
    `unexpected size for input '${name}': expected ${expected} bytes for ${datatype} of shape ${formatShape(shape)}, but got ${byteLength}`,
    { tensor: name },
  );
}

/**
 * An input from bytes in wire layout. They are used in place, or copied if they are not aligned for their datatype.
 *
 * @throws {@link TritonError} INVALID_ARG if the number of bytes does not match the shape.
 */
export function tensorOfBytes(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  bytes: Bytes,
): TensorInput {
  // The encoder counts the elements of BYTES.
  if (datatype === 'BYTES') return new BytesTensor(shape, bytes);
  const size = datatypeSize[datatype];
  const expected = checkByteSize(name, datatype, shape, bytes.byteLength);
  const { buffer, byteOffset } = byteOffsetFits(bytes, size) ? bytes : new Uint8Array(bytes);
  const data = viewOf(elementTypes[datatype].wire, buffer, byteOffset, expected);
  return { data, shape, datatype };
}

function byteOffsetFits({ byteOffset }: Bytes, size: number): boolean {
  return byteOffset % size === 0;
}

/** One element of a BYTES tensor in wire layout. */
export function oneElement(bytes: Bytes): Bytes {
  const writer = new BytesWriter(1);
  writer.append(bytes);
  return new Uint8Array(writer.finishOwned());
}

/** An output's bytes in wire layout, without a copy. BYTES whose elements were read are encoded again. */
export function bytesOfTensor(tensor: AnyTensor): Buffer {
  if (tensor.datatype === 'BYTES') {
    const wire = wireOf(tensor);
    if (wire !== undefined) return Buffer.from(wire.buffer, wire.byteOffset, wire.byteLength);
    const writer = new BytesWriter(tensor.data.length);
    for (const element of tensor.data) writer.append(element);
    return Buffer.from(writer.finishOwned());
  }
  const { buffer, byteOffset, byteLength } = tensor.data;
  return Buffer.from(buffer, byteOffset, byteLength);
}
