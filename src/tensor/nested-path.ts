/**
 * The fast path for nested arrays: JavaScript arrays of the configured rank with rows of equal length. For any
 * other value it returns undefined, and nested.ts then encodes the value or finds the error.
 */

import { elementError, maxRow } from './nested.js';
import type { InputPlan } from './plan.js';
import type { ElementType, Refuse } from './elements.js';
import { lengthOf, type WireArray } from './views.js';

/** The most elements of an array that is used again. */
const mostSpare = 1024;

/** Encoded nested arrays. */
export interface Nested {
  readonly shape: readonly number[];
  readonly data: WireArray;
}

/** See the head of this file. Each input has its own. */
export class NestedPath {
  readonly #plan: InputPlan;
  readonly #last: number;
  #lastShape: readonly number[] = [];
  /** The array of the last small request, if nobody uses it; see {@link encode}. */
  #spare: WireArray | undefined;

  constructor(plan: InputPlan) {
    this.#plan = plan;
    this.#last = plan.rank - 1;
  }

  /**
   * Encodes nested arrays. Code of the caller may run.
   *
   * @param copiedNext - Whether the result is copied before the next call and before any code of the caller runs. Then small arrays are
   *   used again.
   * @throws {@link TritonError} INVALID_ARG for an element that the datatype does not take.
   */
  encode(array: readonly unknown[], copiedNext: boolean): Nested | undefined {
    const { elements, dims, batchRank } = this.#plan;
    if (elements === undefined || this.#last < 0) return undefined;
    if (this.#last === 1) return this.#encodeRows(array, elements, copiedNext);
    const shape: number[] = [];
    const firsts: (readonly unknown[])[] = [];
    let count = 1;
    let level: unknown = array;
    for (let i = 0; i <= this.#last; i++) {
      if (!Array.isArray(level)) return undefined;
      const list: readonly unknown[] = level;
      const { length } = list;
      const dim = i < batchRank ? -1 : dims[i - batchRank];
      if (!isLength(length) || (dim !== -1 && dim !== length)) return undefined;
      firsts.push(list);
      shape.push(length);
      count *= length;
      if (i < this.#last) level = list[0];
    }
    if (batchRank === 1 && (shape[0] ?? 0) > this.#plan.maxBatchSize) return undefined;
    if (count > maxRow) return undefined;
    let data: WireArray;
    try {
      data = elements.create(count);
    } catch {
      return undefined;
    }
    const walk = new Walk(this.#plan, elements, shape, firsts, data);
    return walk.rows(array, 0, 0, true) ? { shape, data } : undefined;
  }

  /** Encodes two levels, the most common case. */
  #encodeRows(array: readonly unknown[], elements: ElementType, copiedNext: boolean): Nested | undefined {
    const { dims, batchRank, maxBatchSize } = this.#plan;
    const rows = array.length;
    const first: unknown = array[0];
    if (!isLength(rows) || !Array.isArray(first)) return undefined;
    const width = first.length;
    const widthDim = dims[1 - batchRank];
    const rowsDim = batchRank === 1 ? -1 : dims[0];
    if (!isLength(width) || width * rows > maxRow || (widthDim !== -1 && widthDim !== width))
      return undefined;
    if (batchRank === 1 ? rows > maxBatchSize : rowsDim !== -1 && rowsDim !== rows) return undefined;
    const count = rows * width;
    // A getter of the caller may make a request of the same model, which then takes another array.
    let data = this.#spare;
    this.#spare = undefined;
    if (data === undefined || lengthOf(data) !== count) {
      try {
        data = elements.create(count);
      } catch {
        return undefined;
      }
    }
    let row = 0;
    const refuse: Refuse = (index, value) => elementError(this.#plan, [row, index], value);
    for (; row < rows; row++) {
      const list: unknown = row === 0 ? first : array[row];
      if (!Array.isArray(list) || (row > 0 && list.length !== width)) return undefined;
      elements.writeRow(data, row * width, list, width, refuse);
    }
    const last = this.#lastShape;
    const shape = last[0] === rows && last[1] === width ? last : [rows, width];
    this.#lastShape = shape;
    if (copiedNext && count <= mostSpare) this.#spare = data;
    return { shape, data };
  }
}

/** Whether an array's length is valid. A proxy may return anything. */
function isLength(length: unknown): boolean {
  return typeof length === 'number' && length > 0 && length <= maxRow && Math.trunc(length) === length;
}

/** One walk over nested arrays. */
class Walk {
  readonly #elements: ElementType;
  readonly #shape: readonly number[];
  /** The first array of each level, whose length and first element were already read. */
  readonly #firsts: readonly (readonly unknown[])[];
  readonly #data: WireArray;
  readonly #path: number[] = [];
  readonly #refuse: Refuse;

  constructor(
    plan: InputPlan,
    elements: ElementType,
    shape: readonly number[],
    firsts: readonly (readonly unknown[])[],
    data: WireArray,
  ) {
    this.#elements = elements;
    this.#shape = shape;
    this.#firsts = firsts;
    this.#data = data;
    this.#refuse = (index, value) => elementError(plan, [...this.#path, index], value);
  }

  /**
   * Writes the contents of an array of a level, from element `at` on. Returns false if its lengths differ from
   * those of the level's first array.
   *
   * @param first - Whether this is the first array of its level.
   */
  rows(array: readonly unknown[], level: number, at: number, first: boolean): boolean {
    const shape = this.#shape;
    const length = shape[level] ?? 0;
    if (!first && array.length !== length) return false;
    if (level === shape.length - 1) {
      this.#elements.writeRow(this.#data, at, array, length, this.#refuse);
      return true;
    }
    let size = 1;
    for (let i = level + 1; i < shape.length; i++) size *= shape[i] ?? 0;
    for (let i = 0; i < length; i++) {
      const isFirst = first && i === 0;
      const child = isFirst ? this.#firsts[level + 1] : array[i];
      this.#path[level] = i;
      if (!Array.isArray(child) || !this.rows(child, level + 1, at + i * size, isFirst)) return false;
    }
    return true;
  }
}
