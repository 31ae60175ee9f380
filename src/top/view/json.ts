/** A view as JSON, one object a line and an interval. Unknown figures are null. */

import type { ModelFigures } from '../figures/model-figures.js';
import type { TopFigures } from '../figures/top-figures.js';
import { rowsOf, type RowChoice } from './rows.js';

function modelJson(figures: ModelFigures): Readonly<Record<string, unknown>> {
  const { latency, batches } = figures;
  return {
    model: figures.model,
    version: figures.version ?? null,
    state: figures.state ?? null,
    reason: figures.reason ?? null,
    requests_per_s: figures.requestsPerS ?? null,
    failures_per_s: figures.failuresPerS ?? null,
    refused_per_s: figures.refusedPerS ?? null,
    rows_per_s: figures.rowsPerS ?? null,
    latency_source: latency.source,
    mean_ms: latency.meanMs ?? null,
    // JSON has no infinity: a percentile above the last bound of the histogram is null, too.
    p50_ms: latency.p50Ms ?? null,
    p95_ms: latency.p95Ms ?? null,
    p99_ms: latency.p99Ms ?? null,
    queue_ms: figures.queueMs ?? null,
    waiting: figures.pending ?? null,
    batch_rows: figures.batchRows ?? null,
    batches: Object.fromEntries(batches),
    instances: figures.instances ?? null,
    cache_hits: figures.cacheHits ?? null,
    memory_bytes: figures.memoryBytes ?? null,
    restarted: figures.restarted,
  };
}

/** The figures as a line. */
export function jsonLine(figures: TopFigures, place: string, choice: RowChoice, time: Date): string {
  const { server, ready, seconds, machine, gpus, withoutMetrics } = figures;
  return JSON.stringify({
    time: time.toISOString(),
    place,
    server: server.name,
    server_version: server.version,
    ready,
    seconds: seconds ?? null,
    without_metrics: withoutMetrics ?? null,
    machine: {
      cpu_utilization: machine.cpuUtilization ?? null,
      memory_used_bytes: machine.memoryUsedBytes ?? null,
      memory_total_bytes: machine.memoryTotalBytes ?? null,
      in_flight_bytes: machine.inFlightBytes ?? null,
      cache_utilization: machine.cacheUtilization ?? null,
      cache_entries: machine.cacheEntries ?? null,
      lazy_used_bytes: machine.lazyUsedBytes ?? null,
      lazy_budget_bytes: machine.lazyBudgetBytes ?? null,
    },
    gpus: gpus.map(({ uuid, utilization, memoryUsedBytes, memoryTotalBytes, powerWatts }) => ({
      uuid,
      utilization: utilization ?? null,
      memory_used_bytes: memoryUsedBytes ?? null,
      memory_total_bytes: memoryTotalBytes ?? null,
      power_watts: powerWatts ?? null,
    })),
    models: rowsOf(figures.models, choice).map(modelJson),
  });
}

/** A reading that failed, as a line. */
export function jsonFailure(place: string, error: string, time: Date): string {
  return JSON.stringify({ time: time.toISOString(), place, error });
}
