/** The measurements of the soak. */

import { readdirSync } from 'node:fs';

/** One sample of the process. */
export interface Sample {
  /** Number of requests, or cycles, that have ended. */
  readonly count: number;
  readonly seconds: number;
  /** Resident bytes. */
  readonly rss: number;
  /** Bytes outside of V8's heap that V8 knows of. */
  readonly external: number;
  readonly heap: number;
  /** Active handles and requests of libuv. */
  readonly handles: number;
  readonly threads: number;
  readonly files: number;
}

/** Columns of the table, in order. */
export const columns = [
  'count',
  'seconds',
  'rss',
  'external',
  'heap',
  'handles',
  'threads',
  'files',
] as const;

function entries(folder: string): number {
  return readdirSync(folder).length;
}

/** Takes a sample after a collection. Needs Linux and `--expose-gc`. */
export async function sample(count: number, begin: number): Promise<Sample> {
  // A worker or server that has just ended still frees its handles and memory.
  for (let turn = 0; turn < 3; turn++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const memory = process.memoryUsage();
  return {
    count,
    seconds: (performance.now() - begin) / 1000,
    rss: memory.rss,
    external: memory.external,
    heap: memory.heapUsed,
    handles: process.getActiveResourcesInfo().length,
    threads: entries('/proc/self/task'),
    files: entries('/proc/self/fd'),
  };
}
