/** The result of encoding a request's inputs. */

import type { WireArray } from './views.js';

/**
 * The inputs of one request in wire layout, by position. A model version has one of these objects, and all
 * its requests use it. So it must be copied before any code of a caller runs, and before the next request is
 * encoded.
 */
export class EncodedInputs {
  /**
   * Full shapes, with the batch dimension if the model has one; undefined for an absent optional input.
   * Requests may share them, so they must not be changed.
   */
  readonly shapes: (readonly number[] | undefined)[] = [];
  /**
   * The elements: a Uint8Array for BOOL and BYTES, a Uint16Array of bits for FP16 and BF16, otherwise the
   * array of that name. It may be the caller's own array, which has to be copied with `set` of an array of
   * the same class. An array of at most `onHeapBytes` (views.ts) may be shared with other threads, which
   * could make it longer at any moment. So `set` must not reach beyond the input's place, and may throw.
   */
  readonly data: (WireArray | undefined)[] = [];
  /** The size of `data` in bytes, whatever its own properties say. */
  readonly byteLengths: number[] = [];

  /** @param count - How many inputs the model has. */
  constructor(count: number) {
    for (let i = 0; i < count; i++) {
      this.shapes.push(undefined);
      this.data.push(undefined);
      this.byteLengths.push(0);
    }
  }

  set(input: number, shape: readonly number[], data: WireArray, byteLength: number): void {
    // Mostly the shape is the one of the request before. To compare costs less than to write.
    if (this.shapes[input] !== shape) this.shapes[input] = shape;
    this.data[input] = data;
    this.byteLengths[input] = byteLength;
  }

  /** Marks an input as absent. */
  leaveOut(input: number): void {
    this.shapes[input] = this.data[input] = undefined;
    this.byteLengths[input] = 0;
  }

  /** Releases the callers' arrays. */
  release(): void {
    const { data } = this;
    for (let i = 0; i < data.length; i++) data[i] = undefined;
  }
}
