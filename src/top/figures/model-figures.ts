/** What a version did between two readings. */

import type { ModelStatus } from '../../api/metadata.js';
import { ServerSide } from '../../perf/measure/server-side.js';
import type { VersionStatistics } from '../reading.js';
import type { VersionMetrics } from './metric-figures.js';
import { bucketsBetween, quantileOf, type Buckets } from './quantiles.js';

/**
 * Where percentiles come from:
 *
 * - `histogram`: buckets of tritonts, of the requests between both readings.
 * - `summary`: Triton's summaries, of the window that the server chooses.
 * - `none`: the server has neither; there is the mean alone.
 */
export type LatencySource = 'histogram' | 'summary' | 'none';

/** Times from the call to the response. Undefined: no request was answered, or the server does not say. */
export interface LatencyFigures {
  readonly source: LatencySource;
  readonly meanMs: number | undefined;
  /** Infinity: above the greatest bound of the histogram. */
  readonly p50Ms: number | undefined;
  readonly p95Ms: number | undefined;
  readonly p99Ms: number | undefined;
}

/** Figures of a version. Undefined: unknown, as rates are after a single reading. */
export interface ModelFigures {
  readonly model: string;
  /** Absent if no version is known. */
  readonly version: string | undefined;
  /** The state of the index; undefined if the server does not tell. */
  readonly state: string | undefined;
  readonly reason: string | undefined;
  /** Successful requests a second. */
  readonly requestsPerS: number | undefined;
  /** Requests that failed after they were queued, a second. */
  readonly failuresPerS: number | undefined;
  /** Requests that were refused before they were queued, a second; only of tritonts. */
  readonly refusedPerS: number | undefined;
  /** Rows of successful requests a second. */
  readonly rowsPerS: number | undefined;
  readonly latency: LatencyFigures;
  /** Mean time in the queue. */
  readonly queueMs: number | undefined;
  /** Requests that wait for a batch now. */
  readonly pending: number | undefined;
  /** Mean rows of a batch. */
  readonly batchRows: number | undefined;
  /** Batches by their rows. */
  readonly batches: ReadonlyMap<number, number>;
  readonly instances: number | undefined;
  /** The share of requests that the response cache answered, from 0 to 1; undefined without look-ups. */
  readonly cacheHits: number | undefined;
  /** Memory that the runtime holds for the version, on all devices; undefined if it does not say. */
  readonly memoryBytes: number | undefined;
  /** Whether the counters began anew, as after a reload: the rates count from there. */
  readonly restarted: boolean;
}

/** A version at one moment. */
export interface VersionMoment {
  readonly statistics: VersionStatistics | undefined;
  readonly metrics: VersionMetrics | undefined;
}

function failuresOf({ inference_stats: times }: VersionStatistics): number {
  // Servers of other software may lack it.
  return (times as Partial<typeof times>).fail?.count ?? 0;
}

/** Whether counters fell. */
function hasRestarted(before: VersionStatistics, after: VersionStatistics): boolean {
  return (
    after.inference_count < before.inference_count ||
    after.execution_count < before.execution_count ||
    after.inference_stats.success.count < before.inference_stats.success.count ||
    failuresOf(after) < failuresOf(before)
  );
}

const noBuckets: Buckets = new Map();

function latencyOf(
  side: ServerSide | undefined,
  before: VersionMetrics | undefined,
  after: VersionMetrics | undefined,
  restarted: boolean,
): LatencyFigures {
  const meanMs =
    side !== undefined && side.counts.success > 0 ? side.ns.success / side.counts.success / 1e6 : undefined;
  if (after !== undefined && after.buckets.size > 0) {
    const earlier = restarted ? noBuckets : before?.buckets;
    const buckets = earlier && (bucketsBetween(earlier, after.buckets) ?? after.buckets);
    const at = (share: number): number | undefined => {
      const us = buckets && quantileOf(buckets, share);
      return us === undefined ? undefined : us / 1000;
    };
    return { source: 'histogram', meanMs, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) };
  }
  if (after !== undefined && after.summary.size > 0) {
    const at = (quantile: number): number | undefined => {
      const us = after.summary.get(quantile);
      return us === undefined ? undefined : us / 1000;
    };
    return { source: 'summary', meanMs, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) };
  }
  return { source: 'none', meanMs, p50Ms: undefined, p95Ms: undefined, p99Ms: undefined };
}

/** The figures of a version whose moments are known. */
export function modelFigures(
  { name, version, state, reason }: ModelStatus,
  before: VersionMoment | undefined,
  after: VersionMoment,
  seconds: number | undefined,
  instances: number | undefined,
): ModelFigures {
  const { statistics, metrics } = after;
  const restarted =
    statistics !== undefined &&
    before?.statistics !== undefined &&
    hasRestarted(before.statistics, statistics);
  const earlier = restarted ? undefined : before?.statistics;
  let side: ServerSide | undefined;
  if (statistics !== undefined && before !== undefined) {
    side = new ServerSide();
    side.add(statistics, 1);
    if (earlier !== undefined) side.add(earlier, -1);
  }
  const rate = (count: number | undefined): number | undefined =>
    count === undefined || seconds === undefined || !(seconds > 0) ? undefined : count / seconds;
  const refused = refusedBetween(before?.metrics, metrics);
  const lookUps = side && side.counts.cache_hit + side.counts.cache_miss;
  const memory = statistics?.memory_usage ?? [];
  return {
    model: name,
    version,
    state,
    reason,
    requestsPerS: rate(side?.counts.success),
    failuresPerS: rate(
      side && statistics && failuresOf(statistics) - (earlier === undefined ? 0 : failuresOf(earlier)),
    ),
    refusedPerS: rate(refused),
    rowsPerS: rate(side?.inferences),
    latency: latencyOf(side, before?.metrics, metrics, restarted),
    queueMs:
      side !== undefined && side.counts.queue > 0 ? side.ns.queue / side.counts.queue / 1e6 : undefined,
    pending: metrics?.pending,
    batchRows:
      side !== undefined && side.executions > 0 && side.inferences > 0
        ? side.inferences / side.executions
        : undefined,
    batches: side?.batches ?? new Map(),
    instances,
    cacheHits:
      side !== undefined && lookUps !== undefined && lookUps > 0
        ? side.counts.cache_hit / lookUps
        : undefined,
    memoryBytes:
      memory.length === 0 ? undefined : memory.reduce((sum, { byte_size: bytes }) => sum + bytes, 0),
    restarted,
  };
}

function refusedBetween(
  before: VersionMetrics | undefined,
  after: VersionMetrics | undefined,
): number | undefined {
  if (before?.refused === undefined || after?.refused === undefined) return undefined;
  return after.refused < before.refused ? after.refused : after.refused - before.refused;
}
