/** What comes out of a request: tensors. */

import { invalidArgument, type TritonError } from '../errors.js';
import type { Datatype } from './datatype.js';
import { formatShape, elementCount } from './shape.js';
import { flatElements, floatElements, nest } from './to-array.js';
import { jsonElements, type TensorJSON } from './to-json.js';
import type { DataOf, ElementOf, NestedArray } from './types.js';

/**
 * One output of a request.
 *
 * It has three own properties, `datatype`, `shape` and `data`, so a structured clone of it (through
 * `postMessage`, say) has these three, and is accepted as an input like the tensor itself. Tensors compare by
 * `toArray()`.
 *
 * @typeParam D - Its datatype.
 *
 * @example
 * const { scores } = (await model.infer({ image })).outputs;
 * if (scores?.datatype === 'FP32') scores.data; // a Float32Array
 */
export class Tensor<D extends Datatype = Datatype> {
  /** Protocol name of the datatype. Triton: `outputs[].datatype`. */
  declare readonly datatype: D;
  /** The shape, with the batch dimension where the model has one; may be frozen. Triton: `outputs[].shape`. */
  declare readonly shape: readonly number[];
  /**
   * The elements in row-major order, in memory that is this tensor's alone. FP16 and BF16 are a Uint16Array
   * of bits, BOOL is a Uint8Array of 0 and 1, BYTES one Buffer an element, made when first asked for.
   */
  declare readonly data: DataOf<D>;

  // Tensors come from requests alone: see newTensor and the factories of output.ts.
  protected constructor(datatype: D, shape: readonly number[], data?: DataOf<D>) {
    this.datatype = datatype;
    this.shape = shape;
    // BYTES defines an accessor instead; putting it in the place of a value would take three times as long.
    if (data !== undefined) this.data = data;
  }

  /**
   * This tensor, its `data` typed by the datatype that it is known to have.
   *
   * @param datatype - What the caller takes it for. Nothing is converted.
   * @throws {TritonError} INVALID_ARG if it has another datatype.
   *
   * @example
   * const scores: Float32Array = outputs.logits.as('FP32').data;
   */
  as<E extends Datatype>(datatype: E): Tensor<E> {
    const own: Datatype = this.datatype;
    if (own !== datatype) throw unsuitable(this, `is not ${datatype}`);
    // Just compared: D is E.
    return this as unknown as Tensor<E>;
  }

  /**
   * The elements nested as the shape says; of rank 0 an array of the one element. FP16 and BF16 come as the numbers
   * they stand for, 64-bit integers as bigints, BOOL as booleans, BYTES as Buffers.
   *
   * @throws {TritonError} INVALID_ARG if the caller has transferred `data` away.
   *
   * @example
   * for (const row of outputs.scores.toArray()) console.log(row); // [0.1, 0.9]
   */
  toArray(): NestedArray<ElementOf<D>> {
    // The elements of a tensor of D are those of D, which types do not follow through the union.
    return nest(flatElements(intact(this)), this.shape) as NestedArray<ElementOf<D>>;
  }

  /**
   * The elements as FP32: exact for FP16, BF16 and integers of up to 16 bits, rounded for wider ones. For
   * FP32 it is `data` itself.
   *
   * @throws {TritonError} INVALID_ARG for 64-bit integers, BOOL and BYTES, and if `data` was transferred away.
   */
  toFloat32(): Float32Array<ArrayBuffer> {
    const floats = floatElements(intact(this));
    if (floats === undefined) throw unsuitable(this, 'has no conversion to FP32');
    return floats;
  }

  /**
   * The elements of a BYTES tensor as strings, from UTF-8.
   *
   * @throws {TritonError} INVALID_ARG for any other datatype, and if an element is not UTF-8.
   */
  strings(): string[] {
    throw unsuitable(this, 'has no strings, which are in BYTES tensors');
  }

  /**
   * A copy in memory that V8 owns: large outputs are external buffers, which cannot be transferred to other
   * threads.
   *
   * @throws {TritonError} INVALID_ARG if the caller has transferred `data` away.
   */
  clone(): Tensor<D> {
    // What `slice` gives is of the class that it was called on.
    const data = intact(this).data.slice() as DataOf<D>;
    return new Tensor(this.datatype, [...this.shape], data);
  }

  /**
   * What `JSON.stringify` writes of it; see {@link TensorJSON}.
   *
   * @throws {TritonError} INVALID_ARG if the caller has transferred `data` away.
   *
   * @example
   * response.end(JSON.stringify(result)); // … "scores":{"datatype":"FP32","shape":[1,2],"data":[0.5,0.25]} …
   */
  toJSON(): TensorJSON {
    const { datatype, shape } = this;
    return { datatype, shape, ...jsonElements(intact(this)) };
  }
}

/**
 * Makes a tensor. A program cannot, but for those of its own realm that it has from a request: the constructor is
 * protected, which holds for TypeScript alone, and here it is opened.
 */
export const newTensor: new <D extends Datatype>(
  datatype: D,
  shape: readonly number[],
  data?: DataOf<D>,
) => Tensor<D> = Tensor as unknown as typeof newTensor;

/** A tensor of some datatype: a union by `datatype`, so that comparing it narrows `data`. */
export type AnyTensor = { [D in Datatype]: Tensor<D> }[Datatype];

/** The tensor, after making sure that it still has its elements. */
function intact(tensor: Tensor): AnyTensor {
  if (tensor.data.length !== elementCount(tensor.shape)) {
    throw unsuitable(tensor, `has ${tensor.data.length} elements left: its buffer was transferred`);
  }
  // A tensor of D is one of the union for each D; TypeScript does not distribute a class over its type
  // parameter.
  return tensor as AnyTensor;
}

/** The error for what a tensor cannot be used for. */
export function unsuitable(tensor: Tensor, why: string): TritonError {
  return invalidArgument(
    `a tensor of datatype ${tensor.datatype} and shape ${formatShape(tensor.shape)} ${why}`,
  );
}
