/** What a caller may pass in. */

import type { Datatype } from './datatype.js';
import type { AnyTensor } from './tensor.js';
import type { NestedArray, TypedArray } from './types.js';

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
 * A tensor of ONNX Runtime's JavaScript API (`onnxruntime-node`, `onnxruntime-web`), or what looks like one: its
 * memory must be the CPU's.
 */
export interface OnnxRuntimeTensorLike {
  /** The elements in row-major order. */
  readonly data: TypedArray | readonly InputElement[];
  /** The full shape, with the batch dimension where the model has one. */
  readonly dims: readonly number[];
  /** Such as 'float32' or 'int64'; checked against the model's datatype if given. */
  readonly type?: string | undefined;
}

/**
 * One input of a request.
 *
 * - A typed array is flat data whose shape is worked out from the configured dims: with all dims fixed the
 *   batch is `length / product`; with one variable dim the batch is 1, or what another input says, and that
 *   dim is the rest.
 * - Nested arrays have the shape of their nesting; innermost rows may be typed arrays.
 * - `{ data, shape }` says the shape.
 * - An output of another request is passed as it is, and so is a tensor of `onnxruntime-node`.
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
  | TypedArray
  | string
  | NestedArray<InputElement | TypedArray>
  | ShapedInput
  | OnnxRuntimeTensorLike
  | AnyTensor;

/** The inputs of a request by name; `undefined` counts as absent. */
export type Inputs = Readonly<Record<string, TensorInput | undefined>>;
