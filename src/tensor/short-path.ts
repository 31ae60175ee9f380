/**
 * The fast path of an input through checking and encoding. It takes a typed array of the right class that comes
 * with a shape, or whose batch follows from its length. For any other value it returns false, and gather.ts then
 * encodes the value or finds the error.
 *
 * No code of the caller runs in here, except in `shapeOf`.
 */

import { datatypeSize } from './datatype.js';
import type { EncodedInputs } from './encoded.js';
import type { Given } from './given.js';
import { KeptShapes } from './kept-shapes.js';
import type { InputPlan } from './plan.js';
import { maxDim } from './shape.js';
import type { TypedArray } from './types.js';
import { isShared, kindOf, lengthOf, onHeapBytes, type ViewKind, type WireArray } from './views.js';

/** The fast path of one input. */
export class ShortPath {
  /** Whether the batch must come from other inputs, because the length already gives a variable dim. */
  readonly open: boolean;
  /** Whether the input's first dim is the batch. */
  readonly tellsRows: boolean;
  readonly #plan: InputPlan;
  readonly #batched: boolean;
  readonly #maxBatch: number;
  readonly #fixedCount: number;
  readonly #elementBytes: number;
  /** Undefined if there is no fast path: for BYTES, and for values that must be checked one by one. */
  readonly #wire: ViewKind | undefined;
  readonly #shapes: KeptShapes;

  constructor(plan: InputPlan) {
    const { elements } = plan;
    this.#plan = plan;
    this.open = plan.variableDims > 0;
    this.#batched = this.tellsRows = plan.batchRank === 1;
    this.#maxBatch = this.#batched ? plan.maxBatchSize : 1;
    this.#fixedCount = plan.fixedCount;
    this.#elementBytes = datatypeSize[plan.datatype];
    this.#wire = elements !== undefined && !elements.checked ? elements.wire : undefined;
    this.#shapes = new KeptShapes(plan.dims, this.#batched);
  }

  /**
   * Encodes a typed array as input number `input`.
   *
   * @param value - The value that the caller passed.
   * @param batch - The batch, if this input is {@link open}.
   * @returns False if the fast path does not handle it.
   */
  encode(value: unknown, batch: number, encoded: EncodedInputs, input: number): boolean {
    if (!this.#isWire(value)) return false;
    const count = lengthOf(value);
    const shape = this.#shapeOfCount(value, count, batch);
    if (shape === undefined) return false;
    encoded.set(input, shape, value, count * this.#elementBytes);
    return true;
  }

  /**
   * The shape of a typed array that can be copied unconverted; undefined if the fast path does not handle it.
   *
   * @param batch - The batch, if this input is {@link open}.
   */
  shapeFor(value: unknown, batch: number): readonly number[] | undefined {
    return this.#isWire(value) ? this.#shapeOfCount(value, lengthOf(value), batch) : undefined;
  }

  /** Whether a value is a typed array of `count` elements that can be copied unconverted. */
  hasCount(value: unknown, count: number): value is WireArray {
    if (!this.#isWire(value) || lengthOf(value) !== count) return false;
    return count * this.#elementBytes <= onHeapBytes || !isShared(value);
  }

  /** Whether a value is an array of the class `wire`. */
  #isWire(value: unknown): value is WireArray {
    const kind = kindOf(value);
    return kind !== undefined && kind === this.#wire;
  }

  /** The shape of an array of the class `wire` with `count` elements; undefined as for {@link shapeFor}. */
  #shapeOfCount(view: TypedArray, count: number, batch: number): readonly number[] | undefined {
    // `isShared` would move a small array off V8's heap (see views.ts), so it is not called for those.
    if (count * this.#elementBytes > onHeapBytes && isShared(view)) return undefined;
    if (this.open) {
      const rest = count / ((this.#batched ? batch : 1) * this.#fixedCount);
      // An empty array may be detached.
      if (count === 0 || this.#plan.variableDims > 1 || Math.trunc(rest) !== rest || rest > maxDim)
        return undefined;
      return this.#shapes.withVariable(batch, rest);
    }
    const rows = count / this.#fixedCount;
    if (!(rows >= 1 && rows <= this.#maxBatch && Math.trunc(rows) === rows)) return undefined;
    return this.#shapes.ofBatch(rows);
  }

  /** The shape of an input; undefined if the fast path does not handle it. Code of the caller may run. */
  shapeOf({ shape, datatype }: Given): readonly number[] | undefined {
    if (this.#wire === undefined || !Array.isArray(shape)) return undefined;
    if (datatype !== undefined && datatype !== this.#plan.datatype) return undefined;
    const read = this.#shapes.read(shape);
    if (read === undefined || !this.#batched) return read;
    const batch = read[0] ?? 0;
    return batch >= 1 && batch <= this.#maxBatch ? read : undefined;
  }

  /** Encodes a typed array with a shape that `shapeOf` returned, as input number `input`. */
  encodeGiven(value: unknown, shape: readonly number[], encoded: EncodedInputs, input: number): boolean {
    if (!this.#isWire(value)) return false;
    const count = lengthOf(value);
    let expected = 1;
    for (let i = 0; i < shape.length; i++) expected *= shape[i] ?? 0;
    if (count !== expected || count === 0) return false;
    const byteLength = count * this.#elementBytes;
    if (byteLength > onHeapBytes && isShared(value)) return false;
    encoded.set(input, shape, value, byteLength);
    return true;
  }
}
