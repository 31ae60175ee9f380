/** A tensor of one row, in wire layout: what the rows of requests are put together from. */

import { invalidArgument } from '../../errors.js';
import { datatypeSize, type Datatype } from '../../tensor/datatype.js';
import { InputEncoder } from '../../tensor/input.js';
import type { InputElement } from '../../tensor/inputs.js';
import { elementCount, formatShape } from '../../tensor/shape.js';
import { bytesAt } from '../../tensor/views.js';
import { countElements } from '../../tensor/bytes.js';

/** See the head of this file. */
export interface Item {
  readonly datatype: Datatype;
  /** Without the batch dimension. */
  readonly shape: readonly number[];
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * An item of elements.
 *
 * @param where - The file and the place in it, for errors.
 * @throws {@link TritonError} INVALID_ARG for elements that the datatype does not take, or that do not fill the shape.
 */
export function itemOfElements(
  where: string,
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  elements: readonly InputElement[],
): Item {
  const spec = { name, datatype, dims: shape, optional: false };
  const encoder = new InputEncoder({ model: where, maxBatchSize: 0, inputs: [spec] });
  try {
    const { data, byteLengths } = encoder.encode({ [name]: { data: elements, shape } });
    const bytes = data[0] && bytesAt(data[0]);
    return {
      datatype,
      shape,
      bytes: new Uint8Array((bytes ?? new Uint8Array(0)).subarray(0, byteLengths[0])),
    };
  } finally {
    encoder.release();
  }
}

/**
 * An item of bytes in wire layout.
 *
 * @throws {@link TritonError} INVALID_ARG if their number does not match the shape.
 */
export function itemOfBytes(
  where: string,
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  bytes: Uint8Array,
): Item {
  const count = elementCount(shape);
  const found = datatype === 'BYTES' ? countElements(bytes) : bytes.byteLength / datatypeSize[datatype];
  if (found !== count) {
    const has = found < 0 ? 'bytes that end within an element' : `${bytes.byteLength} bytes`;
    throw invalidArgument(
      `${where}: '${name}' has ${has}; expected ${count} elements of ${datatype} for its shape ${formatShape(shape)}`,
    );
  }
  return { datatype, shape, bytes: new Uint8Array(bytes) };
}
