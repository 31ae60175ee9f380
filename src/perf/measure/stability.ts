/** The rule of perf_analyzer for when the measured windows are stable. */

/** How many of the last windows must agree. */
export const stabilityWindows = 3;

/** The figures of a window that decide. */
export interface WindowFigures {
  /** Inferences a second. */
  readonly throughput: number;
  /** The mean latency or the chosen percentile, in milliseconds. */
  readonly latencyMs: number;
}

/** A judgement of the windows so far. */
export interface Judgement {
  /** Whether the last windows agree. */
  readonly stable: boolean;
  /** Whether one of the last windows is above the latency threshold. */
  readonly aboveThreshold: boolean;
}

/**
 * Judges the windows so far. They are stable if, of the last three, the greatest throughput divided by the least is
 * at most `1 + percentage / 100`, and the same holds for the latencies. A window without a response is never stable.
 *
 * @param percentage - `--stability-percentage`.
 * @param thresholdMs - `--latency-threshold`; 0: none.
 */
export function judge(windows: readonly WindowFigures[], percentage: number, thresholdMs: number): Judgement {
  const last = windows.slice(-stabilityWindows);
  if (last.length < stabilityWindows) return { stable: false, aboveThreshold: false };
  const most = 1 + percentage / 100;
  const agree = (values: readonly number[]): boolean => {
    const least = Math.min(...values);
    return least > 0 && Math.max(...values) / least <= most;
  };
  return {
    stable: agree(last.map(({ throughput }) => throughput)) && agree(last.map(({ latencyMs }) => latencyMs)),
    aboveThreshold: thresholdMs > 0 && last.some(({ latencyMs }) => latencyMs >= thresholdMs),
  };
}
