/** How often each batch size ran. */

/** Batches by size. */
export type Histogram = ReadonlyMap<number, number>;

/** The batches that came to `after` since `before`. */
export function difference(after: Histogram, before: Histogram): Histogram {
  const result = new Map<number, number>();
  for (const [size, count] of after) {
    const more = count - (before.get(size) ?? 0);
    if (more > 0) result.set(size, more);
  }
  return result;
}

/** All batches of several histograms. */
export function sum(histograms: readonly Histogram[]): Histogram {
  const result = new Map<number, number>();
  for (const histogram of histograms) {
    for (const [size, count] of histogram) result.set(size, (result.get(size) ?? 0) + count);
  }
  return result;
}

/** Items a batch; NaN without batches. */
export function meanSize(histogram: Histogram): number {
  let items = 0;
  let batches = 0;
  for (const [size, count] of histogram) {
    items += size * count;
    batches += count;
  }
  return items / batches;
}

/** Batches by size from the statistics of a model of ours. */
export function ofStatistics(
  stats: readonly { readonly batch_size: number; readonly compute_infer: { readonly count: number } }[],
): Histogram {
  return new Map(stats.map(({ batch_size, compute_infer }) => [batch_size, compute_infer.count]));
}
