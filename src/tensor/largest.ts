/** Finds the largest elements of a row. */

import { atOnce, Pace, type Sliced } from '../slices.js';

/** Numbers or bigints, in an array of any class. */
export type Ordered = ArrayLike<number | bigint>;

/** Whether the first value is larger than the second, so that their indexes do not matter. NaN is smallest. */
function isAbove(value: number | bigint, other: number | bigint): boolean {
  return value > other || (Number.isNaN(other) && !Number.isNaN(value));
}

/** A heap of indexes of a row's elements. The element on top comes last in order. */
class Heap {
  readonly indexes: number[] = [];
  readonly #values: Ordered;
  readonly #start: number;

  constructor(values: Ordered, start: number) {
    this.#values = values;
    this.#start = start;
  }

  at(index: number | undefined): number | bigint {
    return this.#values[this.#start + (index ?? NaN)] ?? NaN;
  }

  /** Adds an element. Returns the number of levels that it moved. */
  add(index: number): number {
    const { indexes } = this;
    let place = indexes.length;
    let levels = 0;
    for (; place > 0; levels++) {
      const above = (place - 1) >> 1;
      const other = indexes[above] ?? 0;
      if (!this.#isLater(index, other)) break;
      indexes[place] = other;
      place = above;
    }
    indexes[place] = index;
    return levels;
  }

  /** Replaces the top of the heap's first `size` indexes. Returns the number of levels that the index moved. */
  replace(index: number, size: number): number {
    const { indexes } = this;
    let place = 0;
    let levels = 0;
    for (let below = 1; below < size; below = 2 * place + 1, levels++) {
      if (below + 1 < size && this.#isLater(indexes[below + 1] ?? 0, indexes[below] ?? 0)) below++;
      const other = indexes[below] ?? 0;
      if (!this.#isLater(other, index)) break;
      indexes[place] = other;
      place = below;
    }
    indexes[place] = index;
    return levels;
  }

  /** Whether an element comes after another one. */
  #isLater(index: number, other: number): boolean {
    const value = this.at(index);
    const against = this.at(other);
    return isAbove(against, value) || (index > other && !isAbove(value, against));
  }
}

/** The cost of moving one level in the heap, in elements read. */
const levelSteps = 4;

/**
 * Indexes of the `count` largest elements of a row, in order. Equal elements are ordered by index, and NaN
 * comes last. A heap keeps the largest elements found so far, so the row is not sorted.
 *
 * @param values - The array that contains the row.
 * @param start - Where the row begins. The indexes count from here.
 * @param size - How many elements the row has.
 */
export function* seekLargest(
  values: Ordered,
  start: number,
  size: number,
  count: number,
  pace: Pace,
): Sliced<readonly number[]> {
  const heap = new Heap(values, start);
  const { indexes } = heap;
  const most = Math.min(count, size);
  for (let index = 0; index < size && most > 0; index++) {
    let levels = 0;
    if (index < most) levels = heap.add(index);
    // Of equal elements, the heap already holds the one with the lower index.
    else if (isAbove(heap.at(index), heap.at(indexes[0]))) levels = heap.replace(index, most);
    if (pace.spent(1 + levelSteps * levels)) yield;
  }
  // Heap sort: the top comes last in order, so it moves to the end of the remaining indexes.
  for (let left = most - 1; left > 0; left--) {
    const last = indexes[left] ?? 0;
    indexes[left] = indexes[0] ?? 0;
    const levels = heap.replace(last, left);
    if (pace.spent(1 + levelSteps * levels)) yield;
  }
  return indexes;
}

/** As {@link seekLargest}, without a pause. */
export function largest(values: Ordered, start: number, size: number, count: number): readonly number[] {
  return atOnce(seekLargest(values, start, size, count, new Pace()));
}

/** Index of the largest element of a row that is not empty; see {@link largest}. */
export function indexOfLargest(values: Ordered, start: number, size: number): number {
  let best = 0;
  let most = values[start] ?? NaN;
  for (let index = 1; index < size; index++) {
    const value = values[start + index] ?? NaN;
    if (!isAbove(value, most)) continue;
    best = index;
    most = value;
  }
  return best;
}
