/** Workers that use a server, and checks of the resources that remain when they are gone. */

import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import type { ServerHandle } from '../../src/index.js';
import { threadCount, until, type Context } from '../support/harness.js';

/** A worker's task. */
export interface CallerData {
  /**
   * The server to attach to. Without it, the worker creates one of `repository`, and sends its handle first.
   */
  readonly handle?: ServerHandle;
  readonly repository?: string;
  readonly model: string;
  /** Number of elements of its input. */
  readonly width?: number;
  /** Number of requests. */
  readonly count: number;
  readonly then: 'end' | 'close' | 'wait' | 'stream' | 'stay';
}

/** A worker, with its messages in order. */
export interface Caller {
  readonly worker: Worker;
  readonly next: () => Promise<unknown>;
  /** Its exit code, when it has ended. */
  readonly ended: Promise<number>;
}

/** Starts a worker. After the test it is terminated if it still runs. */
export function call(context: Context, data: CallerData): Caller {
  const worker = new Worker(new URL('workers/caller.js', import.meta.url), { workerData: data });
  const messages: unknown[] = [];
  let wake: (() => void) | undefined;
  let failure: Error | undefined;
  worker.on('message', (message: unknown) => {
    messages.push(message);
    wake?.();
  });
  worker.on('error', (error) => {
    failure = error;
    wake?.();
  });
  const ended = once(worker, 'exit').then(([code]) => code as number);
  // Callers that wait for the worker get the error from next().
  ended.catch(() => undefined);
  context.after(async () => {
    await worker.terminate();
  });
  return {
    worker,
    ended,
    next: async () => {
      while (messages.length === 0) {
        if (failure !== undefined) throw failure;
        await new Promise<void>((resolve) => (wake = resolve));
      }
      return messages.shift();
    },
  };
}

/** Number of open files of this process. Linux only. */
export async function fileCount(): Promise<number> {
  return (await readdir('/proc/self/fd')).length;
}

/** Returns a check that fails unless the numbers of threads and open files come back to what they are now. */
export async function noMoreThanNow(): Promise<() => Promise<void>> {
  const [threads, files] = [await threadCount(), await fileCount()];
  return () => until(async () => (await threadCount()) <= threads && (await fileCount()) <= files);
}
