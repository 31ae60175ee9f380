/** Metrics of the application's own. */

/** What makes a metric of the application's own. Triton: `TRITONSERVER_MetricFamilyNew`, `TRITONSERVER_MetricNew`. */
export interface MetricOptions {
  /** Of letters, digits, _ and :, not beginning with nv_ or tritonts_, which are the server's; nv_trt_llm_ may be used. */
  readonly name: string;
  /** What it tells. */
  readonly help: string;
  /** 'counter' grows, 'gauge' goes up and down, 'histogram' counts what is observed by its size. */
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Labels with their values. Metrics of one name differ in the values alone. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Upper bounds of a histogram's classes, ascending (default: 0.005 to 10). */
  readonly buckets?: readonly number[] | undefined;
}

/** A metric of the application's own, as `server.metrics()` shows it. */
export interface Metric {
  /**
   * Adds to a counter or a gauge, 1 by default.
   *
   * @throws {@link TritonError} UNSUPPORTED for a histogram, INVALID_ARG for what is no number, or is negative for a counter.
   */
  readonly increment: (by?: number) => void;
  /**
   * Sets a gauge.
   *
   * @throws {@link TritonError} UNSUPPORTED for others, INVALID_ARG for what is no number.
   */
  readonly set: (value: number) => void;
  /**
   * Counts a value in a histogram.
   *
   * @throws {@link TritonError} UNSUPPORTED for others, INVALID_ARG for what is no number.
   */
  readonly observe: (value: number) => void;
}
