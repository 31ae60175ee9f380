/** Medians, spreads and ratios of the rounds' numbers. All functions are pure. */

/** A median with its spread. */
export interface Estimate {
  readonly median: number;
  /**
   * Median absolute deviation: half of the rounds are at most this far from the median. A single round has
   * none.
   */
  readonly spread: number | undefined;
  readonly least: number;
  readonly greatest: number;
}

/**
 * The value below which a share of the values lies, interpolated between two neighbours.
 *
 * @param sorted - At least one value, ascending.
 * @param share - 0 to 1.
 */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  const place = share * (sorted.length - 1);
  const below = sorted[Math.floor(place)];
  const above = sorted[Math.ceil(place)];
  if (below === undefined || above === undefined) {
    throw new RangeError(`no percentile ${share} of ${sorted.length} values`);
  }
  return below + (above - below) * (place - Math.floor(place));
}

/** The median of at least one value. */
export function median(values: readonly number[]): number {
  return percentile(ascending(values), 0.5);
}

/** Median and spread of at least one value. */
export function estimate(values: readonly number[]): Estimate {
  const sorted = ascending(values);
  const middle = percentile(sorted, 0.5);
  return {
    median: middle,
    spread: values.length > 1 ? median(values.map((value) => Math.abs(value - middle))) : undefined,
    least: percentile(sorted, 0),
    greatest: percentile(sorted, 1),
  };
}

/**
 * How many times as fast the first rates are as the second, from the rounds of one interleaved run. Each
 * round's two numbers are divided. Whatever slows the machine down slows both neighbours, so ratios vary less
 * than the numbers.
 *
 * @param ours - Rates, round by round.
 * @param theirs - Rates of the same rounds.
 */
export function ratio(ours: readonly number[], theirs: readonly number[]): Estimate {
  if (ours.length !== theirs.length) {
    throw new RangeError(`${ours.length} rounds can't be divided by ${theirs.length}`);
  }
  return estimate(ours.map((rate, round) => rate / (theirs[round] ?? NaN)));
}

/** Whether a value is at least `limit`, within its spread. */
export function reaches({ median: middle, spread = 0 }: Estimate, limit: number): boolean {
  return middle + spread >= limit;
}

/** Whether a value is at most `limit`, within its spread. */
export function staysBelow({ median: middle, spread = 0 }: Estimate, limit: number): boolean {
  return middle - spread <= limit;
}

/** A sorted copy. */
export function ascending(values: ArrayLike<number>): Float64Array {
  return Float64Array.from(values).sort();
}
