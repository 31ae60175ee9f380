/** Counts of batches by size. */

/** How many batches of each size ran. */
export type Histogram = ReadonlyMap<number, number>;

/** The batches in `after` that are not in `before`. */
export function difference(after: Histogram, before: Histogram): Histogram {
  const result = new Map<number, number>();
  for (const [size, count] of after) {
    const more = count - (before.get(size) ?? 0);
    if (more > 0) result.set(size, more);
  }
  return result;
}

/** The batches of several histograms together. */
export function sum(histograms: readonly Histogram[]): Histogram {
  const result = new Map<number, number>();
  for (const histogram of histograms) {
    for (const [size, count] of histogram) result.set(size, (result.get(size) ?? 0) + count);
  }
  return result;
}

/** The mean size of a batch; NaN without batches. */
export function meanSize(histogram: Histogram): number {
  let items = 0;
  let batches = 0;
  for (const [size, count] of histogram) {
    items += size * count;
    batches += count;
  }
  return items / batches;
}

/** The batches in the statistics of a served model. */
export function ofStatistics(
  stats: readonly { readonly batch_size: number; readonly compute_infer: { readonly count: number } }[],
): Histogram {
  return new Map(stats.map(({ batch_size, compute_infer }) => [batch_size, compute_infer.count]));
}
