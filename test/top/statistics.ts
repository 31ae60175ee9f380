/** Statistics of a version with given counts. */

import type { VersionStatistics } from '../../src/top/reading.js';

/** What differs from nothing. */
export interface Counts {
  readonly name?: string;
  readonly success?: number;
  readonly successNs?: number;
  readonly fail?: number;
  readonly rows?: number;
  readonly runs?: number;
  /** Runs by their rows. */
  readonly batches?: Readonly<Record<string, number>>;
  readonly cacheHits?: number;
  readonly cacheMisses?: number;
  /** Bytes. */
  readonly memory?: readonly number[];
}

const nothing = { count: 0, ns: 0 };

/** Statistics of version 1 of model `m`. */
export function statisticsOf({
  name = 'm',
  success = 0,
  successNs = 0,
  fail = 0,
  rows = 0,
  runs = 0,
  batches = {},
  cacheHits = 0,
  cacheMisses = 0,
  memory = [],
}: Counts): VersionStatistics {
  return {
    name,
    version: '1',
    inference_count: rows,
    execution_count: runs,
    inference_stats: {
      success: { count: success, ns: successNs },
      fail: { count: fail, ns: 0 },
      queue: { count: success, ns: 0 },
      compute_input: nothing,
      compute_infer: nothing,
      compute_output: nothing,
      cache_hit: { count: cacheHits, ns: 0 },
      cache_miss: { count: cacheMisses, ns: 0 },
    },
    batch_stats: Object.entries(batches).map(([size, count]) => ({
      batch_size: Number(size),
      compute_input: nothing,
      compute_infer: { count, ns: 0 },
      compute_output: nothing,
    })),
    memory_usage: memory.map((bytes, id) => ({ type: 'CPU', id, byte_size: bytes })),
  };
}
