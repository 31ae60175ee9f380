/** Converts tensors to plain JavaScript values. */

import { bf16, fp16 } from './half.js';
import { decodeBf16, decodeFp16 } from './half-arrays.js';
import type { Datatype } from './datatype.js';
import { elementCount } from './shape.js';
import type { DataOf, NestedArray } from './types.js';

/** A datatype with its data, as tensors have them. */
export type TensorData = { [D in Datatype]: { readonly datatype: D; readonly data: DataOf<D> } }[Datatype];

/** The elements in row-major order: numbers, bigints, booleans or Buffers. */
export function flatElements(tensor: TensorData): (number | bigint | boolean | Buffer)[] {
  switch (tensor.datatype) {
    case 'BOOL':
      return Array.from(tensor.data, (byte) => byte !== 0);
    case 'FP16':
      return Array.from(tensor.data, (bits) => fp16.decode(bits));
    case 'BF16':
      return Array.from(tensor.data, (bits) => bf16.decode(bits));
    case 'INT64':
    case 'UINT64':
      return Array.from(tensor.data);
    case 'BYTES':
      return [...tensor.data];
    case 'INT8':
    case 'INT16':
    case 'INT32':
    case 'UINT8':
    case 'UINT16':
    case 'UINT32':
    case 'FP32':
    case 'FP64':
      return Array.from(tensor.data);
  }
}

/**
 * The elements as FP32; undefined for BOOL, BYTES and 64-bit integers.
 */
export function floatElements(tensor: TensorData): Float32Array<ArrayBuffer> | undefined {
  switch (tensor.datatype) {
    case 'FP32':
      return tensor.data;
    case 'FP16':
      return decodeFp16(tensor.data);
    case 'BF16':
      return decodeBf16(tensor.data);
    case 'INT8':
    case 'INT16':
    case 'INT32':
    case 'UINT8':
    case 'UINT16':
    case 'UINT32':
    case 'FP64':
      return new Float32Array(tensor.data);
    case 'BOOL':
    case 'INT64':
    case 'UINT64':
    case 'BYTES':
      return undefined;
  }
}

/** The most arrays made for a tensor without elements. Its data does not bound their number. */
export const mostEmptyArrays: number = 2 ** 16;

/** The most arrays that {@link nest} makes on one level for a tensor without elements; 0 for other tensors. */
export function emptyArrays(shape: readonly number[]): number {
  const firstEmpty = shape.indexOf(0);
  return firstEmpty < 0 ? 0 : elementCount(shape.slice(0, firstEmpty));
}

/** Flat elements in nested arrays of a shape. See {@link emptyArrays} for a shape with a 0. */
export function nest<T>(flat: readonly T[], shape: readonly number[]): NestedArray<T> {
  let rows: readonly (T | NestedArray<T>)[] = flat;
  // The loop goes from the innermost level outwards. A level's number of arrays is the product of the outer
  // dims.
  for (let level = shape.length - 1; level > 0; level--) {
    const dim = shape[level] ?? 0;
    const inner = rows;
    const count = shape.slice(0, level).reduce((product, outer) => product * outer, 1);
    rows = Array.from({ length: count }, (_, i) => inner.slice(i * dim, (i + 1) * dim));
  }
  return rows;
}
