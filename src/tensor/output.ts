/**
 * Turns outputs into tensors, with one function for each datatype, so that each function makes one class of
 * array.
 */

import { BytesTensor } from './bytes-tensor.js';
import type { Datatype } from './datatype.js';
import type { MemoryViews } from './memory.js';
import { newTensor, type Tensor } from './tensor.js';
import { cutFrom } from './views.js';

/**
 * Makes tensors of one datatype.
 *
 * @param shape - Becomes the tensor's shape.
 * @param buffer - The elements in wire layout and nothing else. The tensor owns this memory from now on.
 */
export type TensorFactory<D extends Datatype> = (shape: readonly number[], buffer: ArrayBuffer) => Tensor<D>;

// Each datatype has its own function literal, so that V8 optimises it for one class of array.
const factories: { readonly [D in Datatype]: TensorFactory<D> } = {
  BOOL: (shape, buffer) => new newTensor('BOOL', shape, new Uint8Array(buffer)),
  UINT8: (shape, buffer) => new newTensor('UINT8', shape, new Uint8Array(buffer)),
  UINT16: (shape, buffer) => new newTensor('UINT16', shape, new Uint16Array(buffer)),
  UINT32: (shape, buffer) => new newTensor('UINT32', shape, new Uint32Array(buffer)),
  UINT64: (shape, buffer) => new newTensor('UINT64', shape, new BigUint64Array(buffer)),
  INT8: (shape, buffer) => new newTensor('INT8', shape, new Int8Array(buffer)),
  INT16: (shape, buffer) => new newTensor('INT16', shape, new Int16Array(buffer)),
  INT32: (shape, buffer) => new newTensor('INT32', shape, new Int32Array(buffer)),
  INT64: (shape, buffer) => new newTensor('INT64', shape, new BigInt64Array(buffer)),
  FP16: (shape, buffer) => new newTensor('FP16', shape, new Uint16Array(buffer)),
  FP32: (shape, buffer) => new newTensor('FP32', shape, new Float32Array(buffer)),
  FP64: (shape, buffer) => new newTensor('FP64', shape, new Float64Array(buffer)),
  BYTES: (shape, buffer) => new BytesTensor(shape, new Uint8Array(buffer)),
  BF16: (shape, buffer) => new newTensor('BF16', shape, new Uint16Array(buffer)),
};

/** The factory of a datatype. It is looked up once for each output of a model. */
export function tensorFactory<D extends Datatype>(datatype: D): TensorFactory<D> {
  return factories[datatype];
}

/**
 * Makes tensors of one datatype from a part of shared memory.
 *
 * @param shape - Becomes the tensor's shape.
 * @param memory - The memory that contains the elements in wire layout.
 * @param offset - The offset of the elements; a multiple of 8.
 * @param size - Their size in bytes. They are copied.
 */
export type TensorCutter<D extends Datatype> = (
  shape: readonly number[],
  memory: MemoryViews,
  offset: number,
  size: number,
) => Tensor<D>;

// `slice` of a typed array is the cheapest copy of any size: up to 64 bytes it stays on V8's heap.
const cutters: { readonly [D in Datatype]: TensorCutter<D> } = {
  BOOL: (shape, memory, offset, size) =>
    new newTensor('BOOL', shape, cutFrom(memory.Uint8Array, offset, offset + size)),
  UINT8: (shape, memory, offset, size) =>
    new newTensor('UINT8', shape, cutFrom(memory.Uint8Array, offset, offset + size)),
  UINT16: (shape, memory, offset, size) =>
    new newTensor('UINT16', shape, cutFrom(memory.Uint16Array, offset >> 1, (offset + size) >> 1)),
  UINT32: (shape, memory, offset, size) =>
    new newTensor('UINT32', shape, cutFrom(memory.Uint32Array, offset >> 2, (offset + size) >> 2)),
  UINT64: (shape, memory, offset, size) =>
    new newTensor('UINT64', shape, cutFrom(memory.BigUint64Array, offset >> 3, (offset + size) >> 3)),
  INT8: (shape, memory, offset, size) =>
    new newTensor('INT8', shape, cutFrom(memory.Int8Array, offset, offset + size)),
  INT16: (shape, memory, offset, size) =>
    new newTensor('INT16', shape, cutFrom(memory.Int16Array, offset >> 1, (offset + size) >> 1)),
  INT32: (shape, memory, offset, size) =>
    new newTensor('INT32', shape, cutFrom(memory.Int32Array, offset >> 2, (offset + size) >> 2)),
  INT64: (shape, memory, offset, size) =>
    new newTensor('INT64', shape, cutFrom(memory.BigInt64Array, offset >> 3, (offset + size) >> 3)),
  FP16: (shape, memory, offset, size) =>
    new newTensor('FP16', shape, cutFrom(memory.Uint16Array, offset >> 1, (offset + size) >> 1)),
  FP32: (shape, memory, offset, size) =>
    new newTensor('FP32', shape, cutFrom(memory.Float32Array, offset >> 2, (offset + size) >> 2)),
  FP64: (shape, memory, offset, size) =>
    new newTensor('FP64', shape, cutFrom(memory.Float64Array, offset >> 3, (offset + size) >> 3)),
  BYTES: (shape, memory, offset, size) =>
    new BytesTensor(shape, cutFrom(memory.Uint8Array, offset, offset + size)),
  BF16: (shape, memory, offset, size) =>
    new newTensor('BF16', shape, cutFrom(memory.Uint16Array, offset >> 1, (offset + size) >> 1)),
};

/** The cutter of a datatype. It is looked up once for each output of a model. */
export function tensorCutter<D extends Datatype>(datatype: D): TensorCutter<D> {
  return cutters[datatype];
}
