/** Fits a line to measurements, with a confidence interval of its slope. */

/** Slope of the least-squares line, with the half width of its confidence interval. */
export interface Trend {
  readonly slope: number;
  readonly interval: number;
}

/** Student's t for 99 % on both sides and many degrees of freedom; a little wider for few. */
function t99(degrees: number): number {
  return 2.576 + 4.7 / Math.max(1, degrees);
}

/**
 * The trend of `values` over `times`. Neighbouring measurements depend on each other, so the interval is
 * widened by the correlation of each residual with the one before.
 *
 * @param times - At least three.
 */
export function trend(times: readonly number[], values: readonly number[]): Trend {
  const n = times.length;
  const mean = (list: readonly number[]): number => list.reduce((sum, value) => sum + value, 0) / n;
  const meanTime = mean(times);
  const meanValue = mean(values);
  let squares = 0;
  let products = 0;
  for (let i = 0; i < n; i++) {
    const time = (times[i] ?? 0) - meanTime;
    squares += time * time;
    products += time * ((values[i] ?? 0) - meanValue);
  }
  const slope = products / squares;
  const residuals = times.map((time, i) => (values[i] ?? 0) - meanValue - slope * (time - meanTime));
  const variance = residuals.reduce((sum, residual) => sum + residual * residual, 0) / Math.max(1, n - 2);
  let lagged = 0;
  for (let i = 1; i < n; i++) lagged += (residuals[i] ?? 0) * (residuals[i - 1] ?? 0);
  const correlation =
    variance === 0 ? 0 : Math.min(0.95, Math.max(0, lagged / Math.max(1, n - 1) / variance));
  const widened = Math.sqrt((1 + correlation) / (1 - correlation));
  return { slope, interval: t99(n - 2) * Math.sqrt(variance / squares) * widened };
}

/** Whether the values certainly grow by more than is `allowed`. */
export function grows({ slope, interval }: Trend, allowed = 0): boolean {
  return slope - interval > allowed;
}
