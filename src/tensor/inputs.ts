/** The types of inputs. */

import type { Datatype } from './datatype.js';
import type { AnyTensor, Tensor } from './tensor.js';
import type { Float16View, NestedArray, TypedArray } from './types.js';

/** An element of an input. {@link TensorInput} lists the elements that each datatype takes. */
export type InputElement = number | bigint | boolean | string | Uint8Array;

/**
 * A tensor with an explicit shape: flat data in row-major order. Triton: an entry of `inputs`.
 *
 * @example
 * const image: ShapedInput = { data: new Float32Array(2 * 64), shape: [2, 64] };
 */
export interface ShapedInput {
  /** The elements. For BYTES, a `Uint8Array` is one element, not several. */
  readonly data: TypedArray | readonly InputElement[] | string;
  /** The full shape, with the batch dimension where the model has one. Triton: `inputs[].shape`. */
  readonly shape: readonly number[];
  /**
   * The datatype (default: the model's). It is only compared with the model's. Triton: `inputs[].datatype`.
   */
  readonly datatype?: Datatype | undefined;
}

/**
 * A tensor of ONNX Runtime's JavaScript API (`onnxruntime-node`, `onnxruntime-web`), or an object of the same
 * form. Its memory must be the CPU's.
 *
 * @example
 * await model.infer({ image: new ort.Tensor('float32', new Float32Array(64), [1, 64]) });
 */
export interface OnnxRuntimeTensorLike {
  /** The elements in row-major order. */
  readonly data: TypedArray | readonly InputElement[];
  /** The full shape, with the batch dimension where the model has one. */
  readonly dims: readonly number[];
  /**
   * The datatype, such as 'float32' or 'int64' (default: the model's). It is only compared with the model's.
   */
  readonly type?: string | undefined;
}

/**
 * One input of a request.
 *
 * - A typed array is flat data. Its shape follows from the configured dims. If all dims are fixed, the batch
 *   is `length / product`. If one dim is variable, the batch is that of the other inputs, or 1, and the dim is
 *   the rest.
 * - An array of elements is flat data, too: `[0.1, 0.9]` for dims `[2]` is one item, `['a', 'b']` for dims `[1]`
 *   are two.
 * - Nested arrays have the shape of their nesting. Innermost rows may be typed arrays.
 * - `{ data, shape }` gives the shape.
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
 * Anything else is INVALID_ARG, and so is a value that the datatype cannot hold. FP16, BF16 and FP32 round to
 * nearest even.
 */
export type TensorInput =
  | TypedArray
  | string
  | NestedArray<InputElement | TypedArray>
  | ShapedInput
  | OnnxRuntimeTensorLike
  | AnyTensor;

/** The typed arrays that inputs of each datatype may be; see {@link TensorInput}. */
interface ArraysByDatatype {
  BOOL: Uint8Array;
  UINT8: Uint8Array | Uint8ClampedArray;
  UINT16: Uint16Array;
  UINT32: Uint32Array;
  UINT64: BigUint64Array;
  INT8: Int8Array;
  INT16: Int16Array;
  INT32: Int32Array;
  INT64: BigInt64Array;
  FP16: Uint16Array | Float16View | Float32Array;
  FP32: Float32Array;
  FP64: Float64Array;
  BYTES: never;
  BF16: Uint16Array | Float32Array;
}

/** An element of an input of datatype `D`. */
type InputElementOf<D extends Datatype> = D extends 'BOOL'
  ? boolean
  : D extends 'INT64' | 'UINT64'
    ? bigint | number
    : D extends 'BYTES'
      ? string | Uint8Array
      : number;

/** An input of datatype `D`; see {@link TensorInput}. */
export type TensorInputOf<D extends Datatype> =
  | ArraysByDatatype[D]
  | (D extends 'BYTES' ? string | Uint8Array : never)
  | NestedArray<InputElementOf<D> | ArraysByDatatype[D]>
  | (Omit<ShapedInput, 'data' | 'datatype'> & {
      /** The elements in row-major order. */
      readonly data:
        | ArraysByDatatype[D]
        | readonly InputElementOf<D>[]
        | (D extends 'BYTES' ? string | Uint8Array : never);
      /** It is only compared with the model's. */
      readonly datatype?: D | undefined;
    })
  | (Omit<OnnxRuntimeTensorLike, 'data'> & {
      /** The elements in row-major order. */
      readonly data: ArraysByDatatype[D] | readonly InputElementOf<D>[];
    })
  | Tensor<D>;

/** The inputs of a request by name. `undefined` counts as absent. Triton: `inputs`. */
export type Inputs = Readonly<Record<string, TensorInput | undefined>>;
