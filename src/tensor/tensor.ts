/** Tensors, the outputs of requests. */

import { invalidArgument, type TritonError } from '../errors.js';
import type { Datatype } from './datatype.js';
import { describe } from './describe.js';
import { argMaxOf, rowOf, rowsOf, topOf } from './rows.js';
import { formatShape, elementCount } from './shape.js';
import { emptyArrays, flatElements, floatElements, mostEmptyArrays, nest } from './to-array.js';
import { jsonElements, type TensorJSON } from './to-json.js';
import type { DataOf, ElementOf, NestedArray, RowOf, TopElement } from './types.js';

/**
 * An output of a request. Triton: an entry of `outputs`.
 *
 * It has three own properties: `datatype`, `shape` and `data`. A structured clone (through `postMessage`, say)
 * has the same three, and is accepted as an input like the tensor itself. To compare tensors, compare their
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
  /**
   * The shape, with the batch dimension if the model has one. It may be frozen. Triton: `outputs[].shape`.
   */
  declare readonly shape: readonly number[];
  /**
   * The elements in row-major order, in memory that belongs to this tensor alone. For FP16 and BF16 it is a
   * Uint16Array of bits, for BOOL a Uint8Array of 0 and 1. For BYTES it is one Buffer for each element, made
   * when it is first read.
   */
  declare readonly data: DataOf<D>;

  // Only requests make tensors, with newTensor and the factories of output.ts.
  protected constructor(datatype: D, shape: readonly number[], data?: DataOf<D>) {
    this.datatype = datatype;
    this.shape = shape;
    // BYTES defines an accessor instead. To replace a value by an accessor would take three times as long.
    if (data !== undefined) this.data = data;
  }

  /**
   * Returns this tensor with the type of `data` for a datatype. Nothing is converted.
   *
   * @param datatype - The datatype that the caller expects.
   * @returns This tensor.
   * @throws {@link TritonError} INVALID_ARG if the tensor has another datatype.
   *
   * @example
   * const scores: Float32Array = outputs.logits.as('FP32').data;
   */
  as<E extends Datatype>(datatype: E): Tensor<E> {
    const own: Datatype = this.datatype;
    if (own !== datatype)
      throw unsuitable(this, `is not ${typeof datatype === 'string' ? datatype : describe(datatype)}`);
    // The datatypes were just compared, so D is E.
    return this as unknown as Tensor<E>;
  }

  /**
   * The elements in nested arrays of this tensor's shape; for rank 0 an array of the one element. FP16 and
   * BF16 come as numbers, 64-bit integers as bigints, BOOL as booleans, BYTES as Buffers.
   *
   * @throws {@link TritonError} INVALID_ARG for a tensor without elements whose shape has more than 65,536 empty
   *   arrays, and if the caller has transferred `data` away.
   *
   * @example
   * for (const row of outputs.scores.toArray()) console.log(row); // [0.1, 0.9]
   */
  toArray(): NestedArray<ElementOf<D>> {
    const empty = emptyArrays(this.shape);
    if (empty > mostEmptyArrays)
      throw unsuitable(
        this,
        `is ${empty} empty arrays, and at most ${mostEmptyArrays} are made: read its 'shape'`,
      );
    // The elements of a tensor of D are those of D. TypeScript loses this through the union.
    return nest(flatElements(intact(this)), this.shape) as NestedArray<ElementOf<D>>;
  }

  /**
   * The elements as FP32. FP16, BF16 and integers of up to 16 bits are exact; wider ones are rounded. For
   * FP32 it returns `data` itself.
   *
   * @throws {@link TritonError} INVALID_ARG for 64-bit integers, BOOL and BYTES, and if the caller has
   *   transferred `data` away.
   *
   * @example
   * const values = outputs.half_scores.toFloat32(); // FP16 as numbers
   */
  toFloat32(): Float32Array<ArrayBuffer> {
    const floats = floatElements(intact(this));
    if (floats === undefined) throw unsuitable(this, 'has no conversion to FP32');
    return floats;
  }

  /**
   * The elements of a BYTES tensor as strings, read as UTF-8.
   *
   * @throws {@link TritonError} INVALID_ARG for any other datatype, if an element is not UTF-8, and if the
   *   caller has transferred `data` away.
   *
   * @example
   * const [label] = outputs.label.strings();
   */
  strings(): string[] {
    throw unsuitable(this, 'has no strings, which are in BYTES tensors');
  }

  /**
   * A row: the elements of one index of the first dimension, flat, in row-major order. With a batch dimension a
   * row is an item. A tensor of rank 0 or 1 is one row.
   *
   * The row is an array of the same class as `data` and a view of its memory: a write to one changes the other.
   * FP16 and BF16 rows are copies, as numbers in a Float32Array. A BYTES row is a list of the same Buffers.
   *
   * @param index - Which row, from 0.
   * @throws {@link TritonError} INVALID_ARG for a row that the tensor does not have, and if the caller has
   *   transferred `data` away.
   *
   * @example
   * const scores = outputs.scores.row(0); // of shape [N, 10]: a Float32Array of 10
   */
  row(index: number): RowOf<D> {
    return rowOf<D>(intact(this), this.shape, index, (why) => unsuitable(this, why));
  }

  /**
   * All rows; see {@link row}.
   *
   * @throws {@link TritonError} INVALID_ARG for more than 65,536 rows without elements, and if the caller has
   *   transferred `data` away.
   *
   * @example
   * for (const scores of outputs.scores.rows()) console.log(scores[7]);
   */
  rows(): RowOf<D>[] {
    return rowsOf<D>(intact(this), this.shape, (why) => unsuitable(this, why));
  }

  /**
   * The `k` largest elements of each row, the largest first; see {@link row}. The order is that of Triton's
   * classification: equal elements by index, and NaN last. In BOOL, true is above false.
   *
   * @param k - How many, at least 1. More than a row has means all.
   * @returns One list for each row.
   * @throws {@link TritonError} INVALID_ARG for BYTES, for an invalid `k`, for more than 65,536 rows without
   *   elements, and if the caller has transferred `data` away.
   *
   * @example
   * const [best] = outputs.scores.topK(3); // [{ index: 7, value: 0.98 }, { index: 9, value: 0.01 }, …]
   */
  topK(k: number): TopElement<D>[][] {
    return topOf<D>(intact(this), this.shape, k, (why) => unsuitable(this, why));
  }

  /**
   * The index of the largest element of each row; see {@link topK}. For a row that is all NaN it is 0.
   *
   * @returns One index for each row.
   * @throws {@link TritonError} INVALID_ARG for BYTES, for rows without elements, and if the caller has transferred
   *   `data` away.
   *
   * @example
   * const [digit] = outputs.scores.argMax(); // 7
   */
  argMax(): number[] {
    return argMaxOf(intact(this), this.shape, (why) => unsuitable(this, why));
  }

  /**
   * A copy in memory that V8 owns. Large outputs are external buffers, which cannot be transferred to other
   * threads.
   *
   * @throws {@link TritonError} INVALID_ARG if the caller has transferred `data` away.
   *
   * @example
   * const { data } = outputs.image.as('FP32').clone();
   * worker.postMessage(data, [data.buffer]);
   */
  clone(): Tensor<D> {
    // `slice` returns an array of the class that it was called on.
    const data = intact(this).data.slice() as DataOf<D>;
    return new Tensor(this.datatype, [...this.shape], data);
  }

  /**
   * The value that `JSON.stringify` writes for this tensor; see {@link TensorJSON}.
   *
   * @throws {@link TritonError} INVALID_ARG if the caller has transferred `data` away.
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
 * Makes a tensor. The constructor is protected against calls from TypeScript programs; this cast makes it
 * callable inside the package.
 */
export const newTensor: new <D extends Datatype>(
  datatype: D,
  shape: readonly number[],
  data?: DataOf<D>,
) => Tensor<D> = Tensor as unknown as typeof newTensor;

/** A tensor of some datatype. It is a union by `datatype`, so comparing `datatype` narrows `data`. */
export type AnyTensor = { [D in Datatype]: Tensor<D> }[Datatype];

/** The tensor, after a check that it still has its elements. */
function intact(tensor: Tensor): AnyTensor {
  if (tensor.data.length !== elementCount(tensor.shape)) {
    throw unsuitable(tensor, `has ${tensor.data.length} elements left: its buffer was transferred`);
  }
  // A tensor of each D is in the union. TypeScript does not distribute a class over its type parameter.
  return tensor as AnyTensor;
}

/** The error for a call that a tensor does not support. */
export function unsuitable(tensor: Tensor, why: string): TritonError {
  return invalidArgument(
    `a tensor of datatype ${tensor.datatype} and shape ${formatShape(tensor.shape)} ${why}`,
  );
}
