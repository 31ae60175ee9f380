/** Tells another thread, which is blocked, that a model has answered so many requests. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { attachServer, type ServerHandle } from '../../../src/index.js';

const { handle, done, all } = workerData as {
  readonly handle: ServerHandle;
  readonly done: Int32Array;
  readonly all: number;
};
const server = await attachServer(handle);
const model = server.model('add');
parentPort?.postMessage('watching');
while (model.statistics().inference_stats.success.count < all) await sleep(1);
Atomics.store(done, 0, 1);
Atomics.notify(done, 0);
await server.close();
