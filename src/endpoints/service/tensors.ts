/** Tensors as a protocol carries them: raw bytes in wire layout, in and out, without a copy where that can be. */

import { invalidArgument } from '../../errors.js';
import { BytesTensor, wireOf } from '../../tensor/bytes-tensor.js';
import { BytesWriter } from '../../tensor/bytes.js';
import { datatypeNumber, datatypeSize, type Datatype } from '../../tensor/datatype.js';
import { elementTypes } from '../../tensor/elements.js';
import type { TensorInput } from '../../tensor/inputs.js';
import { elementCount, formatShape } from '../../tensor/shape.js';
import type { AnyTensor } from '../../tensor/tensor.js';
import { viewOf } from '../../tensor/views.js';

/** Bytes in memory that no other thread has. */
export type Bytes = Uint8Array<ArrayBuffer>;

/**
 * The datatype of a name.
 *
 * @throws {@link TritonError} INVALID_ARG for a name that Triton does not have.
 */
export function datatypeOfName(name: string, input: string): Datatype {
  if (Object.hasOwn(datatypeNumber, name)) return name as Datatype; // It is a key of that table.
  const known = Object.keys(datatypeNumber).join(', ');
  throw invalidArgument(`input '${input}': unknown datatype '${name}'; there are ${known}`, {
    tensor: input,
  });
}

/**
 * An input whose elements are bytes in wire layout. They are used where they lie, unless they lie where an array of their
 * datatype cannot begin.
 *
 * @throws {@link TritonError} INVALID_ARG for another number of bytes than the shape has.
 */
export function tensorOfBytes(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  bytes: Bytes,
): TensorInput {
  // Its elements are counted where it is encoded.
  if (datatype === 'BYTES') return new BytesTensor(shape, bytes);
  const size = datatypeSize[datatype];
  const expected = elementCount(shape) * size;
  if (bytes.byteLength !== expected) {
    throw invalidArgument(
      `unexpected size for input '${name}': expected ${expected} bytes for ${datatype} of shape ${formatShape(shape)}, but got ${bytes.byteLength}`,
      { tensor: name },
    );
  }
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

/** An output's bytes in wire layout, over its own memory; BYTES whose elements were read are written again. */
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
