/** What the soak looks at. */

import { readdirSync } from 'node:fs';

/** One look at the process. */
export interface Sample {
  /** Requests, or cycles, ended so far. */
  readonly count: number;
  readonly seconds: number;
  /** Resident bytes. */
  readonly rss: number;
  /** Bytes that V8 knows of outside of its heap. */
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

/** Looks at the process after a collection; needs Linux and `--expose-gc`. */
export async function sample(count: number, begin: number): Promise<Sample> {
  // What ended a moment ago (a worker, a server) still gives back its handles and memory.
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
