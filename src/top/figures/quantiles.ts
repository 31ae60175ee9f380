/** Quantiles of a histogram whose buckets count all values up to a bound, as Prometheus has them. */

/** Counts of values up to a bound, by the bound; the last bound is infinite. */
export type Buckets = ReadonlyMap<number, number>;

/** The values between two moments. Undefined if a count fell: the counters began anew. */
export function bucketsBetween(before: Buckets, after: Buckets): Buckets | undefined {
  const result = new Map<number, number>();
  for (const [bound, count] of after) {
    const more = count - (before.get(bound) ?? 0);
    if (more < 0) return undefined;
    result.set(bound, more);
  }
  return result;
}

/**
 * A quantile, as Prometheus' `histogram_quantile` computes it: within a bucket, values are taken to be spread evenly.
 *
 * @param share - From 0 to 1.
 * @returns Infinity if it lies above the greatest finite bound; undefined without values.
 */
export function quantileOf(buckets: Buckets, share: number): number | undefined {
  const sorted = [...buckets].sort(([a], [b]) => a - b);
  const total = sorted.at(-1)?.[1] ?? 0;
  if (!(total > 0)) return undefined;
  const rank = share * total;
  let lower = 0;
  let below = 0;
  for (const [bound, count] of sorted) {
    if (count >= rank && count > below) {
      return bound === Infinity ? Infinity : lower + (bound - lower) * ((rank - below) / (count - below));
    }
    lower = bound;
    below = count;
  }
  return Infinity;
}
