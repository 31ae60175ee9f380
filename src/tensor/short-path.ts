/**
 * The short way of an input through checking and encoding: a typed array of the right class whose batch
 * follows from its length. It gives up, without saying why, whenever anything is not as expected; gather.ts
 * then finds out.
 *
 * None of the caller's code runs in here.
 */

import { datatypeSize } from './datatype.js';
import type { EncodedInput } from './gather.js';
import type { InputPlan } from './plan.js';
import { maxDim } from './shape.js';
import type { TypedArray } from './types.js';
import {
  copyInto,
  isShared,
  kindOf,
  lengthOf,
  onHeapBytes,
  viewOn,
  type ViewKind,
  type WireArray,
} from './views.js';

/** Shapes of batches up to this are kept. */
const maxKeptShapes = 1024;

/** The short way of one input. */
export class ShortPath {
  /** True where the batch must come from other inputs, because a dim is to be worked out from the length. */
  readonly open: boolean;
  readonly #dims: readonly number[];
  readonly #batched: boolean;
  readonly #maxBatch: number;
  readonly #fixedCount: number;
  readonly #elementBytes: number;
  /** Undefined where there is no short way: BYTES, values to be checked one by one, several variable dims. */
  readonly #wire: ViewKind | undefined;
  readonly #create: ((count: number) => WireArray) | undefined;
  readonly #shapes: (readonly number[] | undefined)[] = [];
  /**
   * For each batch whose bytes V8 keeps on its own heap, memory to copy them to. Whether such an array is
   * shared cannot be asked without moving it (see views.ts), and copying costs less than asking.
   */
  readonly #small: (EncodedInput | undefined)[] = [];

  constructor(plan: InputPlan) {
    const { elements } = plan;
    this.open = plan.variableDims === 1;
    this.#dims = plan.dims;
    this.#batched = plan.batchRank === 1;
    this.#maxBatch = this.#batched ? plan.maxBatchSize : 1;
    this.#fixedCount = plan.fixedCount;
    this.#elementBytes = datatypeSize[plan.datatype];
    const short = elements !== undefined && !elements.checked && plan.variableDims <= 1;
    this.#wire = short ? elements.wire : undefined;
    this.#create = elements?.create;
  }

  /** Bytes of a row, where all dims are fixed. */
  get rowBytes(): number {
    return this.#fixedCount * this.#elementBytes;
  }

  /** Rows of a value that can be copied as it is, where all dims are fixed; 0 for every other value. */
  rowsOf(value: unknown): number {
    const kind = kindOf(value);
    if (kind === undefined || kind !== this.#wire) return 0;
    // It has a kind, so it is a typed array.
    const count = lengthOf(value as TypedArray);
    const rows = count === this.#fixedCount && count > 0 ? 1 : this.#rowsIn(count);
    return count * this.#elementBytes > onHeapBytes && isShared(value as TypedArray) ? 0 : rows;
  }

  /** The shape of so many rows, which others may have, too. */
  shapeOf(rows: number): readonly number[] {
    return this.#shapes[rows] ?? this.#fixedShape(rows);
  }

  /** A view for so many rows at `offset` of some memory, a multiple of 8, of the class that values have. */
  viewOn(memory: ArrayBuffer, offset: number, rows: number): WireArray {
    return viewOn(this.#wire ?? 'Uint8Array', memory, offset, rows * this.#fixedCount);
  }

  /**
   * The value in wire layout, or undefined where the short way is not for it.
   * @param value - What the caller passed.
   * @param batch - The batch, where this input is {@link open}.
   */
  encode(value: unknown, batch: number): EncodedInput | undefined {
    const kind = kindOf(value);
    if (kind === undefined || kind !== this.#wire) return undefined;
    // It has a kind, so it is a typed array.
    const view = value as TypedArray;
    return this.open ? this.#encodeOpen(view, batch) : this.#encodeFixed(view);
  }

  /** Rows that so many elements make; 0 where they are no whole rows, or too many. */
  #rowsIn(count: number): number {
    const rows = count / this.#fixedCount;
    return rows >= 1 && rows <= this.#maxBatch && Math.trunc(rows) === rows ? rows : 0;
  }

  #encodeFixed(view: TypedArray): EncodedInput | undefined {
    const count = lengthOf(view);
    const batch = this.#rowsIn(count);
    if (batch === 0) return undefined;
    const byteLength = count * this.#elementBytes;
    if (byteLength <= onHeapBytes) {
      const small = this.#small[batch] ?? this.#keepSmall(batch, count);
      if (small !== undefined) copyInto(small.data, view, 0);
      return small;
    }
    if (isShared(view)) return undefined;
    // Not shared and of the class `wire`, so it is a WireArray.
    return { shape: this.#shapes[batch] ?? this.#fixedShape(batch), data: view as WireArray, byteLength };
  }

  #encodeOpen(view: TypedArray, batch: number): EncodedInput | undefined {
    const count = lengthOf(view);
    const rest = count / (batch * this.#fixedCount);
    // An empty array may be a detached one.
    if (count === 0 || Math.trunc(rest) !== rest || rest > maxDim) return undefined;
    const byteLength = count * this.#elementBytes;
    const data =
      byteLength <= onHeapBytes ? this.#copy(view, count) : isShared(view) ? undefined : (view as WireArray);
    if (data === undefined) return undefined;
    const shape: number[] = this.#batched ? [batch] : [];
    for (const dim of this.#dims) shape.push(dim === -1 ? rest : dim);
    return { shape, data, byteLength };
  }

  #copy(view: TypedArray, count: number): WireArray | undefined {
    const data = this.#create?.(count);
    if (data !== undefined) copyInto(data, view, 0);
    return data;
  }

  #fixedShape(batch: number): readonly number[] {
    // Not frozen: those who read it meet arrays of one kind.
    const shape: readonly number[] = this.#batched ? [batch, ...this.#dims] : [...this.#dims];
    if (batch <= maxKeptShapes) this.#shapes[batch] = shape;
    return shape;
  }

  #keepSmall(batch: number, count: number): EncodedInput | undefined {
    const data = this.#create?.(count);
    if (data === undefined) return undefined;
    const small = { shape: this.#fixedShape(batch), data, byteLength: data.byteLength };
    this.#small[batch] = small;
    return small;
  }
}
