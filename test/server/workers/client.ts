/** A test's side of this folder's workers. */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { TritonError, type ServerHandle, type TritonErrorCode } from '../../../src/index.js';
import type { Context } from '../../support/harness.js';

/** A question to an attached worker. */
export interface Question {
  readonly id: number;
  readonly task:
    | 'infer'
    | 'begin'
    | 'answered'
    | 'stream'
    | 'stop'
    | 'block'
    | 'config'
    | 'info'
    | 'load'
    | 'close'
    | 'exit';
  readonly name?: string;
  readonly count?: number;
  readonly timeoutMs?: number;
  readonly gate?: SharedArrayBuffer;
}

/** The worker's reply. Its first message has id 0. */
export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: readonly [code: string, message: string];
}

/** An attached worker. */
export interface Attached {
  readonly worker: Worker;
  ask(task: Question['task'], rest?: Omit<Question, 'id' | 'task'>): Promise<unknown>;
}

/** Starts a compiled worker of this folder, which ends with the test. */
export function startWorker(context: Context, name: string, workerData: unknown): Worker {
  const worker = new Worker(new URL(`${name}.js`, import.meta.url), { workerData });
  context.after(async () => {
    await worker.terminate();
  });
  return worker;
}

/** Starts a worker that is attached to a server. */
export async function attach(context: Context, handle: ServerHandle): Promise<Attached> {
  const worker = startWorker(context, 'attached', { handle });
  const pending = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let last = 0;
  await once(worker, 'message');
  worker.on('message', ({ id, value, error }: Answer) => {
    const call = pending.get(id);
    pending.delete(id);
    if (error) call?.reject(new TritonError(error[0] as TritonErrorCode, error[1]));
    else call?.resolve(value);
  });
  return {
    worker,
    ask: (task, rest = {}) =>
      new Promise((resolve, reject) => {
        const id = ++last;
        pending.set(id, { resolve, reject });
        worker.postMessage({ id, task, ...rest } satisfies Question);
      }),
  };
}
