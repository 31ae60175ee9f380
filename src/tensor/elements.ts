/**
 * Converts JavaScript values to wire bytes, for each datatype of fixed size. No value is cast silently.
 */

import type { TritonError } from '../errors.js';
import type { Datatype } from './datatype.js';
import { bf16, fp16, type HalfFormat } from './half.js';
import { encodeBf16, encodeFp16 } from './half-arrays.js';
import type { TypedArray } from './types.js';
import { float32Bits, lengthOf, type ViewKind, type WireArray } from './views.js';

/** Creates the error for the element at `index`, which the datatype cannot hold. */
export type Refuse = (index: number, value: unknown) => TritonError;

/** Converts JavaScript values to elements of one datatype. */
export interface ElementType {
  /** The class of array whose bytes have the wire layout. */
  readonly wire: ViewKind;
  /** Whether arrays of that class may hold values that the datatype does not have. */
  readonly checked: boolean;
  /** Names the accepted elements, in messages. */
  readonly elements: string;
  /** Names the accepted inputs, in messages. */
  readonly takes: string;
  /** Creates an array for `count` elements. */
  readonly create: (count: number) => WireArray;
  /**
   * Writes the first `count` elements of an array into an array from `create`. It reads each element once.
   */
  readonly writeRow: (
    target: WireArray,
    at: number,
    row: ArrayLike<unknown>,
    count: number,
    refuse: Refuse,
  ) => void;
  /**
   * Converts a stable typed array (see `views.ts`) to the wire class, or returns it if it has that class;
   * undefined if its class is not accepted.
   */
  readonly fromView: (view: TypedArray, kind: ViewKind, refuse: Refuse) => WireArray | undefined;
}

// The casts of `target` below name the class that `create` of the same type returns. Each loop writes arrays
// of at most three classes. From five classes on V8 treats the access as megamorphic, and an element costs 20
// ns instead of 2.

function writeSigned(low: number, high: number): ElementType['writeRow'] {
  return (target, at, row, count, refuse) => {
    const integers = target as Int8Array | Int16Array | Int32Array;
    for (let i = 0; i < count; i++) {
      const value = row[i];
      if (typeof value !== 'number' || !(value >= low && value <= high)) throw refuse(i, value);
      if (Math.trunc(value) !== value) throw refuse(i, value);
      integers[at + i] = value;
    }
  };
}

function writeUnsigned(high: number): ElementType['writeRow'] {
  return (target, at, row, count, refuse) => {
    const integers = target as Uint8Array | Uint16Array | Uint32Array;
    for (let i = 0; i < count; i++) {
      const value = row[i];
      if (typeof value !== 'number' || !(value >= 0 && value <= high)) throw refuse(i, value);
      if (Math.trunc(value) !== value) throw refuse(i, value);
      integers[at + i] = value;
    }
  };
}

/** Writes floats. Refuses finite numbers of magnitude `overflow` or more, which would round to infinity. */
function writeFloats(overflow: number): ElementType['writeRow'] {
  return (target, at, row, count, refuse) => {
    const floats = target as Float32Array | Float64Array;
    for (let i = 0; i < count; i++) {
      const value = row[i];
      if (typeof value !== 'number') throw refuse(i, value);
      if ((value >= overflow || value <= -overflow) && Number.isFinite(value)) throw refuse(i, value);
      floats[at + i] = value;
    }
  };
}

function integers(
  array: new (count: number) => WireArray,
  wire: ViewKind,
  low: number,
  high: number,
): ElementType {
  const elements = `integers from ${low} to ${high}`;
  return {
    wire,
    checked: false,
    elements,
    takes: `${wire} or ${elements}`,
    create: (count) => new array(count),
    writeRow: low < 0 ? writeSigned(low, high) : writeUnsigned(high),
    fromView(view, kind) {
      // The casts name the class that `kind` names. Clamped arrays hold the same values as unclamped ones.
      if (kind === wire) return view as WireArray;
      return kind === 'Uint8ClampedArray' && wire === 'Uint8Array'
        ? new Uint8Array(view as Uint8ClampedArray)
        : undefined;
    },
  };
}

function bigints(
  array: new (count: number) => BigInt64Array | BigUint64Array,
  wire: ViewKind,
  wrap: (value: bigint) => bigint,
): ElementType {
  const elements = `bigints of 64 ${wire === 'BigInt64Array' ? '' : 'unsigned '}bits or safe integers`;
  return {
    wire,
    checked: false,
    elements,
    takes: `${wire}, ${elements}`,
    create: (count) => new array(count),
    writeRow(target, at, row, count, refuse) {
      const bigs = target as BigInt64Array | BigUint64Array;
      for (let i = 0; i < count; i++) {
        const value = row[i];
        if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) throw refuse(i, value);
        // A value that is not a bigint is a safe integer here.
        const big = typeof value === 'bigint' ? value : BigInt(value as number);
        if (wrap(big) !== big) throw refuse(i, value);
        bigs[at + i] = big;
      }
    },
    fromView: (view, kind) => (kind === wire ? (view as WireArray) : undefined),
  };
}

function floats(
  array: new (count: number) => Float32Array | Float64Array,
  wire: ViewKind,
  overflow: number,
): ElementType {
  return {
    wire,
    checked: false,
    elements: 'numbers within its range',
    takes: `${wire} or numbers within its range`,
    create: (count) => new array(count),
    writeRow: writeFloats(overflow),
    fromView: (view, kind) => (kind === wire ? (view as WireArray) : undefined),
  };
}

function halves(
  format: HalfFormat,
  encodeAll: (floats: Int32Array, halves: Uint16Array) => number,
  bitKinds: readonly ViewKind[],
): ElementType {
  const arrays = bitKinds.map((kind) => (kind === 'Uint16Array' ? `${kind} of bits` : kind)).join(', ');
  return {
    wire: 'Uint16Array',
    checked: false,
    elements: 'numbers within its range',
    takes: `${arrays}, Float32Array or numbers within its range`,
    create: (count) => new Uint16Array(count),
    writeRow(target, at, row, count, refuse) {
      const { overflow } = format;
      for (let i = 0; i < count; i++) {
        const value = row[i];
        if (typeof value !== 'number') throw refuse(i, value);
        if ((value >= overflow || value <= -overflow) && Number.isFinite(value)) throw refuse(i, value);
        (target as Uint16Array)[at + i] = format.encode(value);
      }
    },
    fromView(view, kind, refuse) {
      // A stable Float16Array already is the Uint16Array of its bits.
      if (bitKinds.includes(kind)) return view as Uint16Array;
      if (kind !== 'Float32Array') return undefined;
      const numbers = float32Bits(view as Float32Array);
      const bits = new Uint16Array(numbers.length);
      const tooLarge = encodeAll(numbers, bits);
      if (tooLarge >= 0) throw refuse(tooLarge, view[tooLarge]);
      return bits;
    },
  };
}

const bool: ElementType = {
  wire: 'Uint8Array',
  checked: true,
  elements: 'true or false, in a Uint8Array 1 or 0',
  takes: 'Uint8Array of 0 and 1, or booleans',
  create: (count) => new Uint8Array(count),
  writeRow(target, at, row, count, refuse) {
    for (let i = 0; i < count; i++) {
      const value = row[i];
      if (typeof value !== 'boolean') throw refuse(i, value);
      (target as Uint8Array)[at + i] = value ? 1 : 0;
    }
  },
  fromView(view, kind, refuse) {
    if (kind !== 'Uint8Array') return undefined;
    const bytes = view as Uint8Array;
    const count = lengthOf(bytes);
    for (let i = 0; i < count; i++) {
      if ((bytes[i] ?? 0) > 1) throw refuse(i, bytes[i]);
    }
    return bytes;
  },
};

/** The smallest magnitude that rounds to infinity in FP32: half a step above the largest number. */
const floatOverflow = 2 ** 128 - 2 ** 103;

/** The conversion for each datatype except BYTES. */
export const elementTypes: Readonly<Record<Exclude<Datatype, 'BYTES'>, ElementType>> = {
  BOOL: bool,
  UINT8: integers(Uint8Array, 'Uint8Array', 0, 2 ** 8 - 1),
  UINT16: integers(Uint16Array, 'Uint16Array', 0, 2 ** 16 - 1),
  UINT32: integers(Uint32Array, 'Uint32Array', 0, 2 ** 32 - 1),
  UINT64: bigints(BigUint64Array, 'BigUint64Array', (value) => BigInt.asUintN(64, value)),
  INT8: integers(Int8Array, 'Int8Array', -(2 ** 7), 2 ** 7 - 1),
  INT16: integers(Int16Array, 'Int16Array', -(2 ** 15), 2 ** 15 - 1),
  INT32: integers(Int32Array, 'Int32Array', -(2 ** 31), 2 ** 31 - 1),
  INT64: bigints(BigInt64Array, 'BigInt64Array', (value) => BigInt.asIntN(64, value)),
  FP16: halves(fp16, encodeFp16, ['Uint16Array', 'Float16Array']),
  FP32: floats(Float32Array, 'Float32Array', floatOverflow),
  FP64: floats(Float64Array, 'Float64Array', Infinity),
  BF16: halves(bf16, encodeBf16, ['Uint16Array']),
};
