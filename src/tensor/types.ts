/** What JavaScript holds tensors in: the types of inputs, of result data, and of nested arrays. */

import type { Datatype } from './datatype.js';
import type { AnyTensor } from './output.js';

/**
 * A `Float16Array`, described by its shape: the class exists from Node 24 on only, and naming it would make
 * these declarations unreadable for a compiler without it.
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

/** Arrays whose bytes may be what a model reads. A `DataView` is not one: it has no element type. */
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
 * Arrays in arrays, all of one depth, with `T` in the innermost ones: `[[1, 2], [3, 4]]` is a tensor of shape
 * [2,2].
 */
export type NestedArray<T> = readonly (T | NestedArray<T>)[];

/** One element of an input. Which of them a datatype takes is told at {@link TensorInput}. */
export type InputElement = number | bigint | boolean | string | Uint8Array;

/** A tensor with its shape spelt out: flat data in row-major order. */
export interface ShapedInput {
  /** The elements; for BYTES a `Uint8Array` is one element, not several. */
  readonly data: TypedArray | readonly InputElement[] | string;
  /** The full shape, with the batch dimension where the model has one. Triton: `inputs[].shape`. */
  readonly shape: readonly number[];
  /** Checked against the model's datatype if given. Triton: `inputs[].datatype`. */
  readonly datatype?: Datatype | undefined;
}

/**
 * One input of a request.
 *
 * - A typed array is flat data whose shape is worked out from the configured dims: with all dims fixed the
 *   batch is `length / product`; with one variable dim the batch is 1, or what another input says, and that
 *   dim is the rest.
 * - Nested arrays have the shape of their nesting; innermost rows may be typed arrays.
 * - `{ data, shape }` says the shape.
 * - An output of another request is passed as it is.
 *
 * | datatype | typed array | elements |
 * |---|---|---|
 * | BOOL | Uint8Array of 0 and 1 | booleans |
 * | UINT8 | Uint8Array, Uint8ClampedArray | integers |
 * | INT8, INT16, INT32, UINT16, UINT32 | the array of that name | integers |
 * | INT64, UINT64 | BigInt64Array, BigUint64Array | bigints, safe integers |
 * | FP16 | Uint16Array of bits, Float16Array, Float32Array | numbers |
 * | BF16 | Uint16Array of bits, Float32Array | numbers |
 * | FP32, FP64 | Float32Array, Float64Array | numbers |
 * | BYTES | | strings (as UTF-8), Uint8Arrays; a lone one is one element |
 *
 * Anything else, and a value that the datatype cannot hold, is INVALID_ARG. FP16, BF16 and FP32 round to
 * nearest even.
 */
export type TensorInput =
  TypedArray | string | NestedArray<InputElement | TypedArray> | ShapedInput | AnyTensor;

/** The inputs of a request by name; `undefined` counts as absent. */
export type Inputs = Readonly<Record<string, TensorInput | undefined>>;

/** The array that holds a result's data, for each datatype. */
export interface DataByDatatype {
  /** One byte an element, 0 or 1. */
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
  /** One Buffer an element, all over one ArrayBuffer. */
  BYTES: Buffer[];
  /** The upper halves of FP32. */
  BF16: Uint16Array<ArrayBuffer>;
}

/** The array that holds a result's data of datatype `D`. */
export type DataOf<D extends Datatype> = DataByDatatype[D];

/** One element of a result as `Tensor.toArray` gives it. */
export type ElementOf<D extends Datatype> = D extends 'BOOL'
  ? boolean
  : D extends 'INT64' | 'UINT64'
    ? bigint
    : D extends 'BYTES'
      ? Buffer
      : number;
