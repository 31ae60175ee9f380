/** The result of encoding a request's inputs. */

import type { RegionRange } from './region-tensor.js';
import type { WireArray } from './views.js';

/**
 * The inputs of one request in wire layout, by position. A model version has one such object, which all its
 * requests use. So the inputs must be copied before any code of a caller runs, and before the next request
 * is encoded.
 */
export class EncodedInputs {
  /**
   * Full shapes, with the batch dimension if the model has one; undefined for an absent optional input.
   * Requests may share them, so they must not be changed.
   */
  readonly shapes: (readonly number[] | undefined)[] = [];
  /**
   * The elements: a Uint8Array for BOOL and BYTES, a Uint16Array of bits for FP16 and BF16, otherwise the
   * array of that name. It may be the caller's own array; copy it with `set` of an array of the same class.
   * An array of at most `onHeapBytes` (views.ts) may be shared with other threads, which could make it longer
   * at any moment. So the target of `set` must end where the input's memory ends; `set` may then throw.
   * Undefined for an absent input, and for one whose bytes are in a region.
   */
  readonly data: (WireArray | undefined)[] = [];
  /** The size of `data` in bytes. Callers can overwrite the array's own properties, so use this size. */
  readonly byteLengths: number[] = [];

  /**
   * Whether each input is a typed array without a shape, or absent: then the lengths of the arrays alone say which shapes and sizes the
   * inputs of another such request have.
   */
  byLength = false;

  readonly #elementBytes: number;

  /**
   * @param count - How many inputs the model has.
   * @param elementBytes - The size of an element of the only input in bytes, for {@link setOnly}.
   */
  constructor(count: number, elementBytes = 0) {
    this.#elementBytes = elementBytes;
    for (let i = 0; i < count; i++) {
      this.shapes.push(undefined);
      this.data.push(undefined);
      this.byteLengths.push(0);
    }
  }

  set(input: number, shape: readonly number[], data: WireArray, byteLength: number): void {
    // The shape is mostly that of the previous request, and a comparison costs less than a write.
    if (this.shapes[input] !== shape) this.shapes[input] = shape;
    this.data[input] = data;
    this.byteLengths[input] = byteLength;
  }

  /** Sets the only input to an array that can be copied unconverted, and has these dims. */
  setOnly(shape: readonly number[], data: WireArray): void {
    // The array is not asked again: another thread may have made it longer since its shape was found.
    let bytes = this.#elementBytes;
    for (let i = 0; i < shape.length; i++) bytes *= shape[i] ?? 0;
    this.set(0, shape, data, bytes);
  }

  /** By position: where inputs are in regions; undefined: none is. The request's options must name them, too. */
  ranges: (RegionRange | undefined)[] | undefined;

  /** Sets an input whose bytes are in a region. */
  setElsewhere(input: number, shape: readonly number[], range?: RegionRange): void {
    if (range !== undefined) (this.ranges ??= [])[input] = range;
    this.shapes[input] = shape;
    this.data[input] = undefined;
    this.byteLengths[input] = 0;
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
