/** Selects the metrics to keep: from the server's option, and from the models' configurations. */

import type { NativeLatencyPolicy } from '../addon/native/version-config.js';
import { expected, readList, readOptions } from '../argument-checks.js';
import type { ModelConfig } from '../config/index.js';
import { invalidArgument } from '../errors.js';

/**
 * Selects metrics besides the counters of requests. Triton: `--metrics-config`, `--metrics-interval-ms`.
 *
 * @example
 * const server = await createServer('./models', { metricsConfig: { summaryLatencies: true } });
 */
export interface MetricsConfig {
  /** The `…_duration_us` counters and their `…_duration_us_bucket` (default true). Triton: `counter_latencies`. */
  readonly counterLatencies?: boolean | undefined;
  /** The histogram of first responses (default false). Triton: `histogram_latencies`. */
  readonly histogramLatencies?: boolean | undefined;
  /** The `…_summary_us`: quantiles of the last 45 to 60 seconds (default false). Triton: `summary_latencies`. */
  readonly summaryLatencies?: boolean | undefined;
  /**
   * Pairs of a quantile and the allowed error of its rank (default: [0.5, 0.05], [0.9, 0.01], [0.95, 0.001],
   * [0.99, 0.001], [0.999, 0.001]). The smallest error decides the precision of stored latencies. Triton:
   * `summary_quantiles`.
   */
  readonly summaryQuantiles?: readonly (readonly [quantile: number, error: number])[] | undefined;
  /**
   * `nv_gpu_…` and `nv_energy_consumption`, if instances can be on GPUs (default true). Triton:
   * `--allow-gpu-metrics`.
   */
  readonly gpus?: boolean | undefined;
  /**
   * The interval in milliseconds over which CPU load is averaged, at least, and at which GPUs are sampled (default
   * 2000). The servers of a process share the samples of GPUs, at the interval of the first server.
   */
  readonly intervalMs?: number | undefined;
}

/** {@link MetricsConfig} with every default in place. */
export interface ResolvedMetrics {
  readonly counterLatencies: boolean;
  readonly histogramLatencies: boolean;
  readonly summaryLatencies: boolean;
  readonly quantiles: readonly number[];
  /** See {@link NativeLatencyPolicy}. */
  readonly windowBits: number;
  readonly gpus: boolean;
  readonly intervalMs: number;
}

const tritonsQuantiles = [
  [0.5, 0.05],
  [0.9, 0.01],
  [0.95, 0.001],
  [0.99, 0.001],
  [0.999, 0.001],
] as const;

/** The limits of `windowBits`: log2 of the buckets for each power of two; see `latency_window.h`. */
const fewestBits = 4;
const mostBits = 9;

/**
 * The resolution of buckets for quantiles with a rank error of at most `error`. A quantile is interpolated within
 * its bucket, so each bucket must hold few latencies. This suffices for typical distributions of latencies.
 */
function bitsFor(error: number): number {
  return Math.min(mostBits, Math.max(fewestBits, Math.ceil(Math.log2(1 / error)) - 3));
}

const pairWords = 'a pair of a quantile and its error, both between 0 and 1,';

function pair(given: unknown, path: string): readonly [number, number] {
  const isShare = (value: unknown): value is number => typeof value === 'number' && value > 0 && value < 1;
  if (Array.isArray(given)) {
    const [quantile, error] = given as readonly unknown[];
    if (given.length === 2 && isShare(quantile) && isShare(error)) return [quantile, error];
    const isPair = given.length === 2 && given.every((one) => typeof one === 'number');
    // The message shows the pair only if both are numbers.
    const received = isPair ? `[${given.join(', ')}]` : given;
    throw expected(pairWords, path, received);
  }
  throw expected(pairWords, path, given);
}

function quantilePairs(given: unknown, path: string): (readonly [number, number])[] {
  const list = readList(given, 'an array of pairs', path);
  if (list.length === 0) throw expected('an array of pairs', path, given);
  const pairs = list.map((one, i) => pair(one, `${path}[${i}]`));
  pairs.forEach(([quantile], i) => {
    if (pairs.findIndex(([other]) => other === quantile) < i) {
      throw invalidArgument(`expected each quantile once in ${path} but received ${quantile} twice`);
    }
  });
  return pairs;
}

/** @throws {@link TritonError} INVALID_ARG, with the option, the expected value and the received one. */
export function resolveMetrics(given: unknown): ResolvedMetrics {
  const path = 'options.metricsConfig';
  const known = [
    'counterLatencies',
    'histogramLatencies',
    'summaryLatencies',
    'summaryQuantiles',
    'gpus',
    'intervalMs',
  ] as const satisfies readonly (keyof MetricsConfig)[];
  const options = readOptions<MetricsConfig>(given, known, path);
  const flag = (key: (typeof known)[number], otherwise: boolean): boolean => {
    const value = options[key] ?? otherwise;
    if (typeof value !== 'boolean') throw expected('true or false', `${path}.${key}`, value);
    return value;
  };
  const summaryLatencies = flag('summaryLatencies', false);
  if (options.summaryQuantiles !== undefined && !summaryLatencies) {
    throw invalidArgument(`${path}.summaryQuantiles needs summaryLatencies: true`);
  }
  const pairs = quantilePairs(options.summaryQuantiles ?? tritonsQuantiles, `${path}.summaryQuantiles`);
  const intervalMs = options.intervalMs ?? 2000;
  if (typeof intervalMs !== 'number' || !Number.isSafeInteger(intervalMs) || intervalMs < 1)
    throw expected('an integer of at least 1', `${path}.intervalMs`, intervalMs);
  return Object.freeze({
    counterLatencies: flag('counterLatencies', true),
    histogramLatencies: flag('histogramLatencies', false),
    summaryLatencies,
    quantiles: Object.freeze(pairs.map(([quantile]) => quantile)),
    windowBits: summaryLatencies ? bitsFor(Math.min(...pairs.map(([, error]) => error))) : 0,
    gpus: flag('gpus', true),
    intervalMs,
  });
}

/** Name of the histogram whose buckets a model may choose. */
export const firstResponseFamily = 'nv_inference_first_response_histogram_ms';

const tritonsBuckets: readonly number[] = [100, 500, 2000, 5000];

/** Buckets of a model's histogram of first responses, in milliseconds. Triton: `model_metrics`. */
export function firstResponseBuckets(config: ModelConfig): readonly number[] {
  const control = config.model_metrics?.metric_control.find(
    ({ metric_identifier: identifier }) => identifier?.family === firstResponseFamily,
  );
  const buckets = control?.histogram_options?.buckets ?? [];
  return buckets.length > 0 ? buckets : tritonsBuckets;
}

/** The latencies that the engine keeps for a version. */
export function latencyPolicy(config: ModelConfig, metrics: ResolvedMetrics): NativeLatencyPolicy {
  return {
    histograms: metrics.counterLatencies,
    windowBits: metrics.windowBits,
    firstResponseMs: metrics.histogramLatencies ? firstResponseBuckets(config) : undefined,
  };
}
