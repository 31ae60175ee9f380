/** What the view takes from metrics: those of versions, of GPUs and of the machine. The names are Triton's. */

import { versionKey } from '../reading.js';
import { readExposition, type Sample } from './exposition-reader.js';

/** Metrics of a version: sums over its GPUs. */
export interface VersionMetrics {
  /** Requests that wait for a batch. */
  pending: number | undefined;
  /** Requests that were refused before they were queued, since the version was loaded. */
  refused: number | undefined;
  /** Microseconds from call to response: successful requests by upper bound. */
  readonly buckets: Map<number, number>;
  /** Microseconds by quantile, of the server's own window. */
  readonly summary: Map<number, number>;
}

/** Metrics of a GPU. */
export interface GpuFigures {
  readonly uuid: string;
  /** From 0 to 1. */
  utilization?: number;
  memoryUsedBytes?: number;
  memoryTotalBytes?: number;
  powerWatts?: number;
}

/** Metrics of the machine and of the whole server. */
export interface MachineFigures {
  /** From 0 to 1. */
  cpuUtilization?: number;
  memoryUsedBytes?: number;
  memoryTotalBytes?: number;
  /** Bytes of requests under way. */
  inFlightBytes?: number;
  /** The used share of the response cache, from 0 to 1. */
  cacheUtilization?: number;
  cacheEntries?: number;
  /** Memory that lazy models take, and their budget. */
  lazyUsedBytes?: number;
  lazyBudgetBytes?: number;
}

/** See the head of this file. */
export interface MetricFigures {
  /** By {@link versionKey}. */
  readonly versions: ReadonlyMap<string, VersionMetrics>;
  readonly gpus: readonly GpuFigures[];
  readonly machine: MachineFigures;
}

const machineNames: ReadonlyMap<string, keyof MachineFigures> = new Map([
  ['nv_cpu_utilization', 'cpuUtilization'],
  ['nv_cpu_memory_used_bytes', 'memoryUsedBytes'],
  ['nv_cpu_memory_total_bytes', 'memoryTotalBytes'],
  ['tritonts_in_flight_bytes', 'inFlightBytes'],
  ['nv_cache_util', 'cacheUtilization'],
  ['nv_cache_num_entries', 'cacheEntries'],
  ['tritonts_lazy_memory_used_bytes', 'lazyUsedBytes'],
  ['tritonts_lazy_memory_budget_bytes', 'lazyBudgetBytes'],
]);

const gpuNames: ReadonlyMap<string, Exclude<keyof GpuFigures, 'uuid'>> = new Map([
  ['nv_gpu_utilization', 'utilization'],
  ['nv_gpu_memory_used_bytes', 'memoryUsedBytes'],
  ['nv_gpu_memory_total_bytes', 'memoryTotalBytes'],
  ['nv_gpu_power_usage', 'powerWatts'],
]);

const pending = 'nv_inference_pending_request_count';
const refused = 'tritonts_inference_request_refused';
const buckets = 'nv_inference_request_duration_us_bucket';
const summary = 'nv_inference_request_summary_us';

const wanted: ReadonlySet<string> = new Set([
  ...[pending, refused, buckets, summary],
  ...machineNames.keys(),
  ...gpuNames.keys(),
]);

/** Reads them from Prometheus' text. */
export function metricFigures(text: string): MetricFigures {
  const versions = new Map<string, VersionMetrics>();
  const gpus = new Map<string, GpuFigures>();
  const machine: MachineFigures = {};
  for (const sample of readExposition(text, wanted)) {
    const { name, labels, value } = sample;
    const ofMachine = machineNames.get(name);
    const ofGpu = gpuNames.get(name);
    if (Number.isNaN(value)) continue;
    if (ofMachine !== undefined) machine[ofMachine] = value;
    else if (ofGpu !== undefined) {
      const uuid = labels['gpu_uuid'] ?? '';
      const gpu = gpus.get(uuid) ?? { uuid };
      gpu[ofGpu] = value;
      gpus.set(uuid, gpu);
    } else {
      const { model, version } = labels;
      if (model !== undefined && version !== undefined)
        addSample(entryOf(versions, versionKey(model, version)), sample);
    }
  }
  return { versions, gpus: [...gpus.values()], machine };
}

function entryOf(versions: Map<string, VersionMetrics>, key: string): VersionMetrics {
  let entry = versions.get(key);
  if (entry === undefined) {
    entry = { pending: undefined, refused: undefined, buckets: new Map(), summary: new Map() };
    versions.set(key, entry);
  }
  return entry;
}

function addSample(entry: VersionMetrics, { name, labels, value }: Sample): void {
  switch (name) {
    case pending:
      entry.pending = (entry.pending ?? 0) + value;
      break;
    case refused:
      entry.refused = (entry.refused ?? 0) + value;
      break;
    case buckets: {
      const bound = labels['le'] === '+Inf' ? Infinity : Number(labels['le']);
      if (!Number.isNaN(bound)) entry.buckets.set(bound, (entry.buckets.get(bound) ?? 0) + value);
      break;
    }
    case summary: {
      // Quantiles of several GPUs have no sum: the slowest one counts.
      const quantile = Number(labels['quantile']);
      entry.summary.set(quantile, Math.max(entry.summary.get(quantile) ?? 0, value));
      break;
    }
  }
}
