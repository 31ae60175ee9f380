/** Medians, spreads and ratios: what is made of the rounds' numbers. Pure functions. */

/** A median with its spread. */
export interface Estimate {
  readonly median: number;
  /** Median absolute deviation from the median: half of the rounds are at most so far away; one alone has none. */
  readonly spread: number | undefined;
  readonly least: number;
  readonly greatest: number;
}

/**
 * The value below which a share of the values lies, between two neighbours in proportion.
 *
 * @param sorted - Ascending, at least one.
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
 * How many times as fast ours is, from the rounds of one interleaved run. Each round's two numbers are divided, since
 * what slows the machine down slows both neighbours: ratios are steadier than the numbers.
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

/** Whether a value is at least so large, where need be within its spread. */
export function reaches({ median: middle, spread = 0 }: Estimate, limit: number): boolean {
  return middle + spread >= limit;
}

/** Whether a value is at most so large, where need be within its spread. */
export function staysBelow({ median: middle, spread = 0 }: Estimate, limit: number): boolean {
  return middle - spread <= limit;
}

/** A sorted copy. */
export function ascending(values: ArrayLike<number>): Float64Array {
  return Float64Array.from(values).sort();
}
