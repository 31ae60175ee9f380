/** The JavaScript types of tensors: typed arrays, nested arrays, and the data of each datatype. */

import type { Datatype } from './datatype.js';

/**
 * A `Float16Array`, described structurally. The class exists from Node 24 on only, and compilers without it
 * could not read declarations that name it.
 */
export interface Float16View {
  readonly [Symbol.toStringTag]: 'Float16Array';
  readonly BYTES_PER_ELEMENT: number;
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly length: number;
  readonly [index: number]: number;
}

/** The arrays whose bytes may be a model's input. A `DataView` is not among them: it has no element type. */
export type TypedArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array
  | Float16View;

/**
 * Nested arrays, all of one depth, with `T` in the innermost ones: `[[1, 2], [3, 4]]` is a tensor of shape
 * [2,2].
 */
export type NestedArray<T> = readonly (T | NestedArray<T>)[];

/** The array that holds a result's data, for each datatype. */
export interface DataByDatatype {
  /** One byte for each element, 0 or 1. */
  BOOL: Uint8Array<ArrayBuffer>;
  UINT8: Uint8Array<ArrayBuffer>;
  UINT16: Uint16Array<ArrayBuffer>;
  UINT32: Uint32Array<ArrayBuffer>;
  UINT64: BigUint64Array<ArrayBuffer>;
  INT8: Int8Array<ArrayBuffer>;
  INT16: Int16Array<ArrayBuffer>;
  INT32: Int32Array<ArrayBuffer>;
  INT64: BigInt64Array<ArrayBuffer>;
  /** The bits of IEEE binary16, on every version of Node. */
  FP16: Uint16Array<ArrayBuffer>;
  FP32: Float32Array<ArrayBuffer>;
  FP64: Float64Array<ArrayBuffer>;
  /** One Buffer for each element. All of them share one ArrayBuffer. */
  BYTES: Buffer[];
  /** The upper halves of FP32. */
  BF16: Uint16Array<ArrayBuffer>;
}

/** The array that holds a result's data of datatype `D`. */
export type DataOf<D extends Datatype> = DataByDatatype[D];

/** An element of a result, as `Tensor.toArray` returns it. */
export type ElementOf<D extends Datatype> = D extends 'BOOL'
  ? boolean
  : D extends 'INT64' | 'UINT64'
    ? bigint
    : D extends 'BYTES'
      ? Buffer
      : number;

/** A row of a result: an array of the class in {@link DataOf}, or for FP16 and BF16 their numbers. */
export type RowOf<D extends Datatype> = D extends 'FP16' | 'BF16' ? Float32Array<ArrayBuffer> : DataOf<D>;

/**
 * An element that `Tensor.topK` found.
 *
 * @example
 * const [[best]] = outputs.scores.topK(1); // { index: 7, value: 0.98 }
 */
export interface TopElement<D extends Datatype = Datatype> {
  /** Its place in its row, from 0. */
  readonly index: number;
  /** The element, as in `Tensor.toArray`. */
  readonly value: ElementOf<D>;
}
