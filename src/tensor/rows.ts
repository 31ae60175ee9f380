/**
 * Rows of tensors: the elements of one index of the first dimension. With a batch dimension a row is an item, as
 * in Triton's classification. A tensor of rank 0 or 1 is one row.
 */

import type { TritonError } from '../errors.js';
import type { Datatype } from './datatype.js';
import { describe } from './describe.js';
import { indexOfLargest, largest, type Ordered } from './largest.js';
import { elementCount } from './shape.js';
import { floatElements, mostEmptyArrays, type TensorData } from './to-array.js';
import type { ElementOf, RowOf, TopElement } from './types.js';

/** Makes the error for a call that the tensor does not support. */
type Unsuitable = (why: string) => TritonError;

/** The number of rows in a shape, and of elements in each row. */
interface RowSizes {
  readonly count: number;
  readonly size: number;
}

function sizesOf(shape: readonly number[]): RowSizes {
  if (shape.length < 2) return { count: 1, size: elementCount(shape) };
  return { count: shape[0] ?? 0, size: elementCount(shape.slice(1)) };
}

/** The sizes, for a caller that makes a value for each row. Bounds the number of empty rows. */
function listedSizes(shape: readonly number[], unsuitable: Unsuitable): RowSizes {
  const sizes = sizesOf(shape);
  if (sizes.size === 0 && sizes.count > mostEmptyArrays)
    throw unsuitable(
      `has ${sizes.count} rows without elements, and at most ${mostEmptyArrays} such rows are listed`,
    );
  return sizes;
}

/** A part of a tensor's data: a view of a typed array's memory, or the same Buffers in another list. */
function part(tensor: TensorData, begin: number, end: number): RowOf<Datatype> {
  switch (tensor.datatype) {
    case 'FP16':
    case 'BF16': {
      const { datatype, data } = tensor;
      // Convert only the row, not the whole tensor.
      return floatElements({ datatype, data: data.subarray(begin, end) }) ?? new Float32Array(0);
    }
    case 'BYTES':
      return tensor.data.slice(begin, end);
    case 'BOOL':
    case 'UINT8':
    case 'UINT16':
    case 'UINT32':
    case 'UINT64':
    case 'INT8':
    case 'INT16':
    case 'INT32':
    case 'INT64':
    case 'FP32':
    case 'FP64':
      return tensor.data.subarray(begin, end);
  }
}

/** Implements `Tensor.row`. */
export function rowOf<D extends Datatype>(
  tensor: TensorData,
  shape: readonly number[],
  index: unknown,
  unsuitable: Unsuitable,
): RowOf<D> {
  const { count, size } = sizesOf(shape);
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) {
    const has = count === 1 ? 'one row, 0' : count === 0 ? 'no rows' : `rows 0 to ${count - 1}`;
    throw unsuitable(`has ${has}, but row() got ${describe(index)}`);
  }
  // A tensor of D has rows of D. TypeScript loses this through the union.
  return part(tensor, index * size, (index + 1) * size) as RowOf<D>;
}

/** Implements `Tensor.rows`. */
export function rowsOf<D extends Datatype>(
  tensor: TensorData,
  shape: readonly number[],
  unsuitable: Unsuitable,
): RowOf<D>[] {
  const { count, size } = listedSizes(shape, unsuitable);
  // As in rowOf.
  return Array.from({ length: count }, (_, i) => part(tensor, i * size, (i + 1) * size) as RowOf<D>);
}

/** The elements as values that have an order. */
function ordered(tensor: TensorData, unsuitable: Unsuitable): Ordered {
  switch (tensor.datatype) {
    case 'FP16':
    case 'BF16':
      return floatElements(tensor) ?? [];
    case 'BYTES':
      throw unsuitable('has no largest elements: strings have no order here');
    case 'BOOL':
    case 'UINT8':
    case 'UINT16':
    case 'UINT32':
    case 'UINT64':
    case 'INT8':
    case 'INT16':
    case 'INT32':
    case 'INT64':
    case 'FP32':
    case 'FP64':
      return tensor.data;
  }
}

/** Implements `Tensor.topK`. */
export function topOf<D extends Datatype>(
  tensor: TensorData,
  shape: readonly number[],
  k: unknown,
  unsuitable: Unsuitable,
): TopElement<D>[][] {
  if (typeof k !== 'number' || !Number.isInteger(k) || k < 1)
    throw unsuitable(`cannot be ranked: topK() takes an integer of at least 1, but got ${describe(k)}`);
  const values = ordered(tensor, unsuitable);
  const { count, size } = listedSizes(shape, unsuitable);
  const most = Math.min(k, size);
  const isBool = tensor.datatype === 'BOOL';
  return Array.from({ length: count }, (_, row) =>
    largest(values, row * size, size, most).map((index) => {
      const value = values[row * size + index];
      // It is an element of a tensor of D.
      return { index, value: (isBool ? value !== 0 : value) as ElementOf<D> };
    }),
  );
}

/** Implements `Tensor.argMax`. */
export function argMaxOf(tensor: TensorData, shape: readonly number[], unsuitable: Unsuitable): number[] {
  const values = ordered(tensor, unsuitable);
  const { count, size } = listedSizes(shape, unsuitable);
  if (size === 0 && count > 0) throw unsuitable('has no largest elements: its rows are empty');
  return Array.from({ length: count }, (_, row) => indexOfLargest(values, row * size, size));
}
