/**
 * Views of one memory in every class of array, so that a tensor is copied in or out without a new view.
 */

import type { ViewKind, WireArray } from './views.js';

/** Views of one ArrayBuffer, whose length is a multiple of 8. */
export class MemoryViews {
  readonly buffer: ArrayBuffer;
  readonly Int8Array: Int8Array<ArrayBuffer>;
  readonly Uint8Array: Uint8Array<ArrayBuffer>;
  readonly Int16Array: Int16Array<ArrayBuffer>;
  readonly Uint16Array: Uint16Array<ArrayBuffer>;
  readonly Int32Array: Int32Array<ArrayBuffer>;
  readonly Uint32Array: Uint32Array<ArrayBuffer>;
  readonly BigInt64Array: BigInt64Array<ArrayBuffer>;
  readonly BigUint64Array: BigUint64Array<ArrayBuffer>;
  readonly Float32Array: Float32Array<ArrayBuffer>;
  readonly Float64Array: Float64Array<ArrayBuffer>;

  constructor(buffer: ArrayBuffer) {
    this.buffer = buffer;
    this.Int8Array = new Int8Array(buffer);
    this.Uint8Array = new Uint8Array(buffer);
    this.Int16Array = new Int16Array(buffer);
    this.Uint16Array = new Uint16Array(buffer);
    this.Int32Array = new Int32Array(buffer);
    this.Uint32Array = new Uint32Array(buffer);
    this.BigInt64Array = new BigInt64Array(buffer);
    this.BigUint64Array = new BigUint64Array(buffer);
    this.Float32Array = new Float32Array(buffer);
    this.Float64Array = new Float64Array(buffer);
  }

  /**
   * The view of a class. Half floats and clamped bytes get the view with the same bits. `set` between arrays of
   * one class does not touch the source's `buffer`. Otherwise V8 would first move a small source off its heap.
   */
  of(kind: ViewKind): WireArray {
    if (kind === 'Float16Array') return this.Uint16Array;
    return kind === 'Uint8ClampedArray' ? this.Uint8Array : this[kind];
  }
}
