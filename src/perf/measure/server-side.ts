/** The server's side of a measurement: differences of Triton's statistics. */

import type { ModelStatistics } from '../../api/metadata.js';

/** The statistics that are read of a version; every KServe v2 server with the extension has them. */
export type StatisticsOfVersion = Pick<
  ModelStatistics,
  'name' | 'version' | 'inference_count' | 'execution_count' | 'inference_stats' | 'batch_stats'
>;

type Members = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null;
const hasCount = (value: unknown): boolean => isObject(value) && Number.isFinite(value['count']);

/** Whether statistics have what is read of them. Those of other software may lack it, in spite of the type. */
export function isWhole(statistics: StatisticsOfVersion): boolean {
  const {
    inference_count: inferences,
    execution_count: executions,
    inference_stats: times,
    batch_stats: batches,
  }: Members = statistics;
  return (
    Number.isFinite(inferences) &&
    Number.isFinite(executions) &&
    isObject(times) &&
    hasCount(times['success']) &&
    Array.isArray(batches) &&
    batches.every((batch: unknown) => isObject(batch) && hasCount(batch['compute_infer']))
  );
}

/** A part of a request's way through the server. */
export type Part = Exclude<keyof ModelStatistics['inference_stats'], 'fail'>;

const parts: readonly Part[] = [
  'success',
  'queue',
  'compute_input',
  'compute_infer',
  'compute_output',
  'cache_hit',
  'cache_miss',
];

/** Counts and nanoseconds of a model, of one moment or between two. */
export class ServerSide {
  inferences = 0;
  executions = 0;
  readonly counts: Record<Part, number> = zeros();
  readonly ns: Record<Part, number> = zeros();
  /** Batches by their rows. */
  readonly batches: Map<number, number> = new Map();

  /** Adds statistics, `times` times: -1 takes them away. */
  add(statistics: StatisticsOfVersion, times: 1 | -1): void {
    this.inferences += times * statistics.inference_count;
    this.executions += times * statistics.execution_count;
    for (const name of parts) {
      // Servers without a cache have no statistics of it.
      const { count = 0, ns = 0 }: { readonly count?: number; readonly ns?: number } = {
        ...(statistics.inference_stats as Partial<ModelStatistics['inference_stats']>)[name],
      };
      this.counts[name] += times * count;
      this.ns[name] += times * ns;
    }
    for (const { batch_size: rows, compute_infer: ran } of statistics.batch_stats)
      this.#addBatches(rows, times * ran.count);
  }

  /** Adds another model's, or another window's. */
  merge(other: ServerSide): void {
    this.inferences += other.inferences;
    this.executions += other.executions;
    for (const name of parts) {
      this.counts[name] += other.counts[name];
      this.ns[name] += other.ns[name];
    }
    for (const [rows, count] of other.batches) this.#addBatches(rows, count);
  }

  /** The mean time of a request in a part of its way, in microseconds; 0 without requests. */
  meanUs(name: Part): number {
    // As in perf_analyzer, the parts are shares of all successful requests, so that they add up.
    const count = this.counts.success;
    return count > 0 ? this.ns[name] / count / 1000 : 0;
  }

  #addBatches(rows: number, count: number): void {
    const sum = (this.batches.get(rows) ?? 0) + count;
    if (sum === 0) this.batches.delete(rows);
    else this.batches.set(rows, sum);
  }
}

function zeros(): Record<Part, number> {
  return {
    success: 0,
    queue: 0,
    compute_input: 0,
    compute_infer: 0,
    compute_output: 0,
    cache_hit: 0,
    cache_miss: 0,
  };
}

/** Statistics of models at one moment, by model. */
export type Snapshot = ReadonlyMap<string, readonly StatisticsOfVersion[]>;

/** What happened between two moments, by model. */
export function between(before: Snapshot, after: Snapshot): Map<string, ServerSide> {
  const result = new Map<string, ServerSide>();
  for (const [model, versions] of after) {
    const side = new ServerSide();
    for (const version of versions) side.add(version, 1);
    for (const version of before.get(model) ?? []) {
      // A version that is gone took its counts with it.
      if (versions.some((one) => one.version === version.version)) side.add(version, -1);
    }
    result.set(model, side);
  }
  return result;
}
