/**
 * Reads callers' typed arrays through the language's own accessors.
 *
 * `instanceof` fails for arrays of another realm (jest and `vm` make those). Properties such as `length` can
 * be overwritten on an instance, and a wrong length would write beyond a request's memory. The accessors of
 * %TypedArray%.prototype have neither problem, run no code of the caller, and are inlined by V8.
 */

import type { Float16View, TypedArray } from './types.js';

/** The class of a typed array, by name. */
export type ViewKind = TypedArray[typeof Symbol.toStringTag];

/** The classes that hold wire bytes. Each datatype uses one of them (see `elements.ts`). */
export type WireArray = Exclude<TypedArray, Uint8ClampedArray | Float16View>;

/**
 * V8 keeps the bytes of arrays up to this size on its own heap. Reading such an array's `buffer` moves them
 * off, which takes 0.25 µs; copying them takes 0.02 µs.
 */
export const onHeapBytes = 64;

const prototype = Object.getPrototypeOf(Uint8Array.prototype) as object;

// The casts below give the accessors the types that the language defines. lib.d.ts knows them only as
// properties.
function accessor(of: object, key: string | symbol): unknown {
  return Reflect.getOwnPropertyDescriptor(of, key)?.get;
}
const getKind = accessor(prototype, Symbol.toStringTag) as (this: unknown) => ViewKind | undefined;
const getLength = accessor(prototype, 'length') as (this: TypedArray) => number;
const getByteLength = accessor(prototype, 'byteLength') as (this: TypedArray) => number;
const getByteOffset = accessor(prototype, 'byteOffset') as (this: TypedArray) => number;
const getBuffer = accessor(prototype, 'buffer') as (this: TypedArray) => ArrayBufferLike;
const getArrayBufferLength = accessor(ArrayBuffer.prototype, 'byteLength') as (this: unknown) => number;
// Read as a property, because under `node --frozen-intrinsics` built-in methods are getters.
const setElements = Reflect.get(prototype, 'set') as (
  this: TypedArray,
  source: TypedArray,
  at?: number,
) => void;

const sliceElements = Reflect.get(prototype, 'slice') as (
  this: WireArray,
  begin: number,
  end: number,
) => WireArray;

/** The class of a typed array; undefined for everything else. */
export function kindOf(value: unknown): ViewKind | undefined {
  return getKind.call(value);
}

/** How many elements an array has; 0 if its buffer was detached. */
export function lengthOf(view: TypedArray): number {
  return getLength.call(view);
}

/** The size of the elements in bytes. */
export function byteLengthOf(view: TypedArray): number {
  return getByteLength.call(view);
}

/** The memory of an array. It is slow for arrays of at most {@link onHeapBytes}. */
export function bufferOf(view: TypedArray): ArrayBufferLike {
  return getBuffer.call(view);
}

/** Copies all of `source` into `target`. Both must hold numbers, or both bigints. */
export function copyInto(target: WireArray, source: TypedArray, at: number): void {
  setElements.call(target, source, at);
}

/** A copy of the elements from `begin` to `end`. No caller may have access to `memory`. */
export function cutFrom<T extends WireArray>(memory: T, begin: number, end: number): T {
  // `slice` returns an array of the class that it was called on. `memory.slice(…)` would make V8 look the
  // method up at each call.
  return sliceElements.call(memory, begin, end) as T;
}

/**
 * Whether an array is a view of a SharedArrayBuffer, whose bytes and length another thread may change at any
 * time. It is slow for arrays of at most {@link onHeapBytes}.
 */
export function isShared(view: TypedArray): boolean {
  const buffer = getBuffer.call(view);
  try {
    getArrayBufferLength.call(buffer);
    return false;
  } catch {
    return true;
  }
}

const classes = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  BigInt64Array,
  BigUint64Array,
  Float32Array,
  Float64Array,
  Float16Array: Uint16Array,
} as const satisfies Record<ViewKind, unknown>;

/** A view of `count` elements at `offset` of `memory`. */
export function viewOn(kind: ViewKind, memory: ArrayBuffer, offset: number, count: number): WireArray {
  // As in copyOf, the class is the one that `kind` names.
  const constructor = classes[kind] as unknown as new (
    memory: ArrayBuffer,
    offset: number,
    count: number,
  ) => WireArray;
  return new constructor(memory, offset, count);
}

/** A view of `size` bytes at `offset` of `memory`. Both must be multiples of the element's size. */
export function viewOf(kind: ViewKind, memory: ArrayBuffer, offset: number, size: number): WireArray {
  // The common classes are written out, so that V8 knows the class of the new array.
  if (kind === 'Float32Array') return new Float32Array(memory, offset, size >> 2);
  if (kind === 'BigInt64Array') return new BigInt64Array(memory, offset, size >> 3);
  if (kind === 'Uint8Array') return new Uint8Array(memory, offset, size);
  return viewOn(kind, memory, offset, size / classes[kind].BYTES_PER_ELEMENT);
}

/** A copy of the array in its own memory. Throws TypeError for a detached one. */
function copyOf(view: TypedArray, kind: ViewKind): TypedArray {
  // `kind` is the class of `view`, so its constructor takes it. Types cannot express this without a switch of
  // eleven cases.
  const constructor = classes[kind] as unknown as new (from: TypedArray) => TypedArray;
  return new constructor(view);
}

/** Whether an array is detached or out of bounds: its buffer was transferred, or shrank too far. */
export function isDetached(view: TypedArray, kind: ViewKind): boolean {
  if (getLength.call(view) !== 0) return false;
  try {
    copyOf(view, kind);
    return false;
  } catch {
    return true;
  }
}

/**
 * The array itself if its length and elements cannot change while no code of the caller runs; otherwise a
 * copy. A Float16Array becomes the Uint16Array of its bits.
 */
export function stable(view: TypedArray, kind: ViewKind): TypedArray {
  if (kind === 'Float16Array') {
    const bits = new Uint16Array(getBuffer.call(view), getByteOffset.call(view), getLength.call(view));
    return isShared(bits) ? new Uint16Array(bits) : bits;
  }
  return getByteLength.call(view) <= onHeapBytes || isShared(view) ? copyOf(view, kind) : view;
}

/** The bits of a stable Float32Array, over the same memory. */
export function float32Bits(view: Float32Array): Int32Array {
  return new Int32Array(getBuffer.call(view), getByteOffset.call(view), getLength.call(view));
}

/** The bytes of an array, over the same memory; undefined if its buffer was transferred or shrank too far. */
export function bytesAt(view: TypedArray): Uint8Array | undefined {
  try {
    return new Uint8Array(getBuffer.call(view), getByteOffset.call(view), getByteLength.call(view));
  } catch {
    return undefined;
  }
}
