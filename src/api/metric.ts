/** The metrics that an application defines. */

/**
 * The definition of an application's metric. Triton: `TRITONSERVER_MetricFamilyNew`, `TRITONSERVER_MetricNew`.
 */
export interface MetricOptions {
  /**
   * The metric's name: letters, digits, _ and :. It must not begin with nv_ or tritonts_, which are reserved
   * for the server; nv_trt_llm_ is allowed.
   */
  readonly name: string;
  /** The metric's help text. */
  readonly help: string;
  /** A 'counter' grows, a 'gauge' goes up and down, a 'histogram' counts observed values by their size. */
  readonly type: 'counter' | 'gauge' | 'histogram';
  /**
   * Labels with their values. Metrics with the same name must have the same labels, and differ only in the
   * labels' values.
   */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Upper bounds of a histogram's buckets, ascending (default: 0.005 to 10). */
  readonly buckets?: readonly number[] | undefined;
}

/** A metric that the application defined. `server.metrics()` includes it. */
export interface Metric {
  /**
   * Adds a number, 1 by default, to a counter or a gauge.
   *
   * @throws {@link TritonError} UNSUPPORTED for a histogram; INVALID_ARG if the argument is not a number, or is
   *   negative for a counter.
   */
  readonly increment: (by?: number) => void;
  /**
   * Sets a gauge.
   *
   * @throws {@link TritonError} UNSUPPORTED for a counter or a histogram, INVALID_ARG if the argument is not a
   *   number.
   */
  readonly set: (value: number) => void;
  /**
   * Counts a value in a histogram.
   *
   * @throws {@link TritonError} UNSUPPORTED for a counter or a gauge, INVALID_ARG if the argument is not a
   *   number.
   */
  readonly observe: (value: number) => void;
}
