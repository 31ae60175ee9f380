/** What the encoder of a model version makes of a request's inputs. */

import type { WireArray } from './views.js';

/**
 * The inputs of one request in wire layout, by position. A model version has one of these, which each request uses
 * again: what it holds is to be copied before any code of a caller runs and before the next request is encoded.
 */
export class EncodedInputs {
  /**
   * Full shapes, with the batch dimension where the model has one; undefined where an optional input is absent. They may
   * be shared with other requests, and are not to be changed.
   */
  readonly shapes: (readonly number[] | undefined)[] = [];
  /**
   * The elements: a Uint8Array for BOOL and BYTES, a Uint16Array of bits for FP16 and BF16, else the array of that name.
   * It may be a caller's own, to be copied with `set` of an array of the same class. Those of at most
   * `onHeapBytes` (views.ts) may be shared with other threads, which could make them longer at any moment: `set` must not reach
   * beyond the input's place, and may throw.
   */
  readonly data: (WireArray | undefined)[] = [];
  /** Bytes of `data`, whatever its own properties say. */
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
    // Mostly it is that of the request before; to compare costs less than to write.
    if (this.shapes[input] !== shape) this.shapes[input] = shape;
    this.data[input] = data;
    this.byteLengths[input] = byteLength;
  }

  /** The input is absent. */
  leaveOut(input: number): void {
    this.shapes[input] = this.data[input] = undefined;
    this.byteLengths[input] = 0;
  }

  /** Lets go of the callers' arrays. */
  release(): void {
    const { data } = this;
    for (let i = 0; i < data.length; i++) data[i] = undefined;
  }
}
