/** Chooses the load levels: a range, a search up to a latency threshold, or a binary search. */

import type { Level } from './level.js';

/** A range of levels: `start:end:step`. */
export interface LevelRange {
  readonly start: number;
  /** Infinity: until the latency threshold is reached. */
  readonly end: number;
  readonly step: number;
}

/**
 * Measures the levels of a range, one after the other, up to the first above the latency threshold.
 *
 * @param measure - Measures a level; undefined ends the search.
 */
export async function searchLinearly(
  { start, end, step }: LevelRange,
  measure: (value: number) => Promise<Level | undefined>,
): Promise<void> {
  // Rates may be fractions, whose sums are inexact.
  for (let i = 0; start + i * step <= end + step * 1e-9; i++) {
    const level = await measure(start + i * step);
    if (level === undefined || level.aboveThreshold) return;
  }
}

/**
 * Finds the highest level below the latency threshold by halving the range, until its length is a step.
 *
 * @param measure - As for {@link searchLinearly}.
 */
export async function searchBinary(
  { start, end, step }: LevelRange,
  measure: (value: number) => Promise<Level | undefined>,
): Promise<void> {
  let low = start;
  let high = end;
  const first = await measure(low);
  if (first === undefined || first.aboveThreshold) return;
  const last = await measure(high);
  if (last === undefined || !last.aboveThreshold) return;
  while (high - low > step) {
    const middle = low + step * Math.max(1, Math.floor((high - low) / step / 2));
    if (middle >= high) return;
    const level = await measure(middle);
    if (level === undefined) return;
    if (level.aboveThreshold) high = middle;
    else low = middle;
  }
}
