/** What comes out of a request: tensors. */

import { invalidArgument, type TritonError } from '../errors.js';
import { BytesWriter, decodeElements, decodeTexts, splitElements } from './bytes.js';
import type { Datatype } from './datatype.js';
import { flatElements, floatElements, nest } from './to-array.js';
import type { MemoryViews } from './memory.js';
import { elementCount, formatShape } from './shape.js';
import type { DataOf, ElementOf, NestedArray } from './types.js';
import { cutFrom } from './views.js';

/**
 * One output of a request.
 *
 * It has three own properties, `datatype`, `shape` and `data`, so a structured clone of it (through
 * `postMessage`, say) has these three, and is accepted as an input like the tensor itself. Tensors compare by
 * `toArray()`.
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

  /**
   * For the result path; BYTES only through {@link tensorFactory}.
   * @internal
   */
  constructor(datatype: D, shape: readonly number[], data?: DataOf<D>) {
    this.datatype = datatype;
    this.shape = shape;
    // BYTES defines an accessor instead; putting it in the place of a value would take three times as long.
    if (data !== undefined) this.data = data;
  }

  /**
   * This tensor, its `data` typed by the datatype that it is known to have.
   *
   * @param datatype - What the caller takes it for. Nothing is converted.
   * @throws TritonError INVALID_ARG if it has another datatype
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
   * The elements nested as the shape says; of rank 0 the element itself. FP16 and BF16 come as the numbers
   * they stand for, 64-bit integers as bigints, BOOL as booleans, BYTES as Buffers.
   * @throws TritonError INVALID_ARG if the caller has transferred `data` away
   */
  toArray(): NestedArray<ElementOf<D>> | ElementOf<D> {
    // The elements of a tensor of D are those of D, which types do not follow through the union.
    return nest(flatElements(intact(this)), this.shape) as NestedArray<ElementOf<D>> | ElementOf<D>;
  }

  /**
   * The elements as FP32: exact for FP16, BF16 and integers of up to 16 bits, rounded for wider ones. For
   * FP32 it is `data` itself.
   * @throws TritonError INVALID_ARG for 64-bit integers, BOOL and BYTES, and if `data` was transferred away
   */
  toFloat32(): Float32Array<ArrayBuffer> {
    const floats = floatElements(intact(this));
    if (floats === undefined) throw unsuitable(this, 'has no conversion to FP32');
    return floats;
  }

  /**
   * The elements of a BYTES tensor as strings, from UTF-8.
   * @throws TritonError INVALID_ARG for any other datatype, and if an element is not UTF-8
   */
  strings(): string[] {
    throw unsuitable(this, 'has no strings, which are in BYTES tensors');
  }

  /**
   * A copy in memory that V8 owns: large outputs are external buffers, which cannot be transferred to other
   * threads.
   * @throws TritonError INVALID_ARG if the caller has transferred `data` away
   */
  clone(): Tensor<D> {
    // What `slice` gives is of the class that it was called on.
    const data = intact(this).data.slice() as DataOf<D>;
    return new Tensor(this.datatype, [...this.shape], data);
  }
}

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

function unsuitable(tensor: Tensor, why: string): TritonError {
  return invalidArgument(
    `a tensor of datatype ${tensor.datatype} and shape ${formatShape(tensor.shape)} ${why}`,
  );
}

/** A tensor of strings or byte strings, which stays as it came until its elements are asked for. */
class BytesTensor extends Tensor<'BYTES'> {
  /** The elements in wire layout, in memory that is this tensor's alone. */
  readonly #wire: Uint8Array<ArrayBuffer>;
  /** From then on the caller may have changed them, so they count, and not the wire bytes. */
  #elements: Buffer[] | undefined;

  /**
   * An accessor on the tensor itself: structured clones have what own properties give, those of a prototype
   * are left out.
   */
  static readonly #data: PropertyDescriptor & ThisType<BytesTensor> = {
    get() {
      return this.#split();
    },
    enumerable: true,
    configurable: true,
  };

  constructor(shape: readonly number[], wire: Uint8Array<ArrayBuffer>) {
    super('BYTES', shape);
    this.#wire = wire;
    Object.defineProperty(this, 'data', BytesTensor.#data);
  }

  /** The wire bytes of a tensor whose elements nobody has seen yet; undefined for everything else. */
  static wireOf(value: object): Uint8Array<ArrayBuffer> | undefined {
    return #wire in value && value.#elements === undefined ? value.#wire : undefined;
  }

  override strings(): string[] {
    if (this.#elements !== undefined) return decodeTexts(this.#elements);
    return decodeElements(this.#wire, elementCount(this.shape));
  }

  override clone(): Tensor<'BYTES'> {
    if (this.#elements === undefined) return new BytesTensor([...this.shape], this.#wire.slice());
    const writer = new BytesWriter(this.#elements.length);
    for (const element of this.#elements) {
      if (!writer.append(element)) throw unsuitable(this, 'has elements whose buffer is gone');
    }
    return new BytesTensor([...this.shape], new Uint8Array(writer.finishOwned()));
  }

  #split(): Buffer[] {
    this.#elements ??= splitElements(this.#wire, elementCount(this.shape));
    return this.#elements;
  }
}

/**
 * The wire bytes of a BYTES tensor whose `data` was never looked at, so that passing it on copies them in one
 * piece; undefined for everything else.
 */
export function wireOf(value: object): Uint8Array<ArrayBuffer> | undefined {
  return BytesTensor.wireOf(value);
}

/**
 * Makes tensors of one datatype.
 * @param shape - Becomes the tensor's.
 * @param buffer - The elements in wire layout and nothing else, in memory that is the tensor's alone from now
 *   on.
 */
export type TensorFactory<D extends Datatype> = (shape: readonly number[], buffer: ArrayBuffer) => Tensor<D>;

// One function literal each: V8 then optimises each for the one class of array that it makes.
const factories: { readonly [D in Datatype]: TensorFactory<D> } = {
  BOOL: (shape, buffer) => new Tensor('BOOL', shape, new Uint8Array(buffer)),
  UINT8: (shape, buffer) => new Tensor('UINT8', shape, new Uint8Array(buffer)),
  UINT16: (shape, buffer) => new Tensor('UINT16', shape, new Uint16Array(buffer)),
  UINT32: (shape, buffer) => new Tensor('UINT32', shape, new Uint32Array(buffer)),
  UINT64: (shape, buffer) => new Tensor('UINT64', shape, new BigUint64Array(buffer)),
  INT8: (shape, buffer) => new Tensor('INT8', shape, new Int8Array(buffer)),
  INT16: (shape, buffer) => new Tensor('INT16', shape, new Int16Array(buffer)),
  INT32: (shape, buffer) => new Tensor('INT32', shape, new Int32Array(buffer)),
  INT64: (shape, buffer) => new Tensor('INT64', shape, new BigInt64Array(buffer)),
  FP16: (shape, buffer) => new Tensor('FP16', shape, new Uint16Array(buffer)),
  FP32: (shape, buffer) => new Tensor('FP32', shape, new Float32Array(buffer)),
  FP64: (shape, buffer) => new Tensor('FP64', shape, new Float64Array(buffer)),
  BYTES: (shape, buffer) => new BytesTensor(shape, new Uint8Array(buffer)),
  BF16: (shape, buffer) => new Tensor('BF16', shape, new Uint16Array(buffer)),
};

/** The factory of a datatype; to be looked up once for each output of a model. */
export function tensorFactory<D extends Datatype>(datatype: D): TensorFactory<D> {
  return factories[datatype];
}

/**
 * Makes tensors of one datatype from a part of shared memory.
 * @param shape - Becomes the tensor's.
 * @param memory - Holds the elements in wire layout, among others.
 * @param offset - Where they begin, a multiple of 8.
 * @param size - Their bytes; these are copied.
 */
export type TensorCutter<D extends Datatype> = (
  shape: readonly number[],
  memory: MemoryViews,
  offset: number,
  size: number,
) => Tensor<D>;

// `slice` of a typed array is the cheapest owned copy of any size: up to 64 bytes it stays on V8's heap.
const cutters: { readonly [D in Datatype]: TensorCutter<D> } = {
  BOOL: (shape, memory, offset, size) =>
    new Tensor('BOOL', shape, cutFrom(memory.Uint8Array, offset, offset + size)),
  UINT8: (shape, memory, offset, size) =>
    new Tensor('UINT8', shape, cutFrom(memory.Uint8Array, offset, offset + size)),
  UINT16: (shape, memory, offset, size) =>
    new Tensor('UINT16', shape, cutFrom(memory.Uint16Array, offset >> 1, (offset + size) >> 1)),
  UINT32: (shape, memory, offset, size) =>
    new Tensor('UINT32', shape, cutFrom(memory.Uint32Array, offset >> 2, (offset + size) >> 2)),
  UINT64: (shape, memory, offset, size) =>
    new Tensor('UINT64', shape, cutFrom(memory.BigUint64Array, offset >> 3, (offset + size) >> 3)),
  INT8: (shape, memory, offset, size) =>
    new Tensor('INT8', shape, cutFrom(memory.Int8Array, offset, offset + size)),
  INT16: (shape, memory, offset, size) =>
    new Tensor('INT16', shape, cutFrom(memory.Int16Array, offset >> 1, (offset + size) >> 1)),
  INT32: (shape, memory, offset, size) =>
    new Tensor('INT32', shape, cutFrom(memory.Int32Array, offset >> 2, (offset + size) >> 2)),
  INT64: (shape, memory, offset, size) =>
    new Tensor('INT64', shape, cutFrom(memory.BigInt64Array, offset >> 3, (offset + size) >> 3)),
  FP16: (shape, memory, offset, size) =>
    new Tensor('FP16', shape, cutFrom(memory.Uint16Array, offset >> 1, (offset + size) >> 1)),
  FP32: (shape, memory, offset, size) =>
    new Tensor('FP32', shape, cutFrom(memory.Float32Array, offset >> 2, (offset + size) >> 2)),
  FP64: (shape, memory, offset, size) =>
    new Tensor('FP64', shape, cutFrom(memory.Float64Array, offset >> 3, (offset + size) >> 3)),
  BYTES: (shape, memory, offset, size) =>
    new BytesTensor(shape, cutFrom(memory.Uint8Array, offset, offset + size)),
  BF16: (shape, memory, offset, size) =>
    new Tensor('BF16', shape, cutFrom(memory.Uint16Array, offset >> 1, (offset + size) >> 1)),
};

/** The cutter of a datatype; to be looked up once for each output of a model. */
export function tensorCutter<D extends Datatype>(datatype: D): TensorCutter<D> {
  return cutters[datatype];
}
