/**
 * The rows of an input in a stream. Requests have views of them, so that a row is not copied for each request that it is
 * part of.
 */

import { invalidArgument } from '../../errors.js';
import { splitElements } from '../../tensor/bytes.js';
import type { ShapedInput } from '../../tensor/inputs.js';
import { tensorFactory } from '../../tensor/output.js';
import { elementCount, formatShape } from '../../tensor/shape.js';
import { thrownText } from '../../thrown-text.js';
import type { Item } from './item.js';

/** Inputs of requests have at most so many bytes: the limit of messages. */
const mostInputBytes: number = 2 ** 31 - 1;

/**
 * Returns the input of the request whose first row is that of a place in the stream; undefined if it lacks the input.
 *
 * @param where - For errors.
 * @param rows - The input in each row of the stream; undefined where it is left out.
 * @param batch - Rows of a request. After the last row of the stream the first one follows.
 * @param batched - Whether the model has a batch dimension. If not, there is one row.
 * @throws {@link TritonError} INVALID_ARG if rows of a request differ in their shapes, or if they are too many bytes.
 */
export function inputRows(
  where: string,
  name: string,
  rows: readonly (Item | undefined)[],
  batch: number,
  batched: boolean,
): (at: number) => ShapedInput | undefined {
  const whole = rows.flatMap((row) => row ?? []);
  const shapes = new Set(whole.map(({ shape }) => formatShape(shape)));
  if (whole.length === rows.length && shapes.size === 1) return views(where, name, whole, batch, batched);
  return (at) => {
    const taken = Array.from({ length: batch }, (_, i) => rows[(at + i) % rows.length]);
    const own = taken.flatMap((row) => row ?? []);
    if (own.length === 0) return undefined;
    if (own.length < taken.length)
      throw invalidArgument(`${where}: some rows of a request have input '${name}', and others do not`);
    const [first] = own;
    const other = own.find(({ shape }) => formatShape(shape) !== formatShape(first?.shape ?? []));
    if (other !== undefined && first !== undefined)
      throw invalidArgument(
        `${where}: rows of one request have the shapes ${formatShape(first.shape)} and ${formatShape(other.shape)} of '${name}'; use -b 1, or data of one shape`,
      );
    return views(where, name, own, batch, batched)(0);
  };
}

/** Rows of one shape. */
function views(
  where: string,
  name: string,
  rows: readonly Item[],
  batch: number,
  batched: boolean,
): (at: number) => ShapedInput {
  const [first] = rows;
  if (first === undefined) throw invalidArgument(`${where}: '${name}' has no data`);
  const { datatype, shape: rowShape } = first;
  const shape = batched ? [batch, ...rowShape] : rowShape;
  const greatest = rows.reduce((most, { bytes }) => Math.max(most, bytes.byteLength), 0);
  if (greatest * batch > mostInputBytes)
    throw invalidArgument(
      `${where}: '${name}' has ${greatest * batch} bytes in a request; expected at most ${mostInputBytes}`,
    );
  const count = elementCount(rowShape);
  const place = (row: number): number => row % rows.length;
  if (datatype === 'BYTES') {
    const elements = rows.map(({ bytes }) => splitElements(bytes, count));
    return (at) => ({
      data: Array.from({ length: batch }, (_, i) => elements[place(at + i)] ?? []).flat(),
      shape,
    });
  }
  // The first rows follow the last ones, so that each request is a view.
  const total = rows.length + batch - 1;
  let all: Uint8Array<ArrayBuffer>;
  try {
    all = new Uint8Array(total * first.bytes.byteLength);
  } catch (cause) {
    throw invalidArgument(
      `${where}: '${name}' has ${total * first.bytes.byteLength} bytes in all rows: ${thrownText(cause)}`,
      { cause },
    );
  }
  for (let row = 0; row < total; row++)
    all.set(rows[place(row)]?.bytes ?? first.bytes, row * first.bytes.byteLength);
  const { data } = tensorFactory(datatype)([total * count], all.buffer);
  return (at) => ({ data: data.subarray(at * count, (at + batch) * count), shape });
}
