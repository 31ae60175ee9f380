/** Finds the largest elements of a row. */

/** Numbers or bigints, in an array of any class. */
export type Ordered = ArrayLike<number | bigint>;

/** Up to this many elements are picked in one pass. For more, the whole row is sorted. */
const maxPicked = 32;

/** Whether the first value stands before the second, whatever their indexes are. */
function isAbove(value: number | bigint, other: number | bigint): boolean {
  return value > other || (Number.isNaN(other) && !Number.isNaN(value));
}

/**
 * Indexes of the `count` largest elements of a row, in order. Equal elements are ordered by index, and NaN comes last.
 *
 * @param values - Has the row's elements, among others.
 * @param start - Where the row begins. The indexes count from here.
 * @param size - How many elements the row has.
 */
export function largest(values: Ordered, start: number, size: number, count: number): number[] {
  const at = (index: number | undefined): number | bigint => values[start + (index ?? NaN)] ?? NaN;
  if (count > maxPicked) {
    // Sorting is stable, so equal values keep the order of their indexes.
    const order = Array.from({ length: size }, (_, index) => index);
    order.sort((a, b) => Number(isAbove(at(b), at(a))) - Number(isAbove(at(a), at(b))));
    return order.slice(0, count);
  }
  const picked: number[] = [];
  if (count < 1) return picked;
  for (let index = 0; index < size; index++) {
    const value = at(index);
    if (picked.length === count && !isAbove(value, at(picked[count - 1]))) continue;
    let place = picked.length;
    while (place > 0 && isAbove(value, at(picked[place - 1]))) place--;
    picked.splice(place, 0, index);
    picked.length = Math.min(picked.length, count);
  }
  return picked;
}

/** Index of the largest element of a row that has one; see {@link largest}. */
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
