/** Requests of a thread whose event loop is busy while its model is unloaded for others. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { identity, row, serve, until } from '../../support/harness.js';
import { loaded } from './harness.js';

const program = `
  import { parentPort, workerData } from 'node:worker_threads';
  const { attachServer } = await import(workerData.index);
  const server = await attachServer(workerData.handle);
  const x = new Float32Array(16);
  await server.infer('a', { x });
  const settled = (promise) => promise.then(() => 'answered', (error) => error.code);
  parentPort.once('message', async () => {
    const stop = new AbortController();
    const stopped = new AbortController();
    const requests = [
      server.infer('a', { x }),
      server.infer('a', { x }, { version: 1 }),
      server.infer('a', { x }, { signal: stop.signal }),
      server.infer('a', { x }, { signal: stopped.signal }),
      (async () => { for await (const _ of server.model('a').stream({ x })); })(),
    ].map(settled);
    // The requests are sent when this turn ends, which is after the model was unloaded.
    Atomics.wait(new Int32Array(workerData.gate), 0, 0);
    stopped.abort();
    parentPort.postMessage(await Promise.all(requests));
    await server.close();
  });
  parentPort.postMessage('ready');
`;

test('requests of a busy thread whose model was unloaded meanwhile wait until it is loaded again', async (t) => {
  const server = await serve(t, { a: identity(), b: identity() }, { load: 'lazy', memoryBudgetBytes: 1 });
  const gate = new SharedArrayBuffer(4);
  const index = new URL('../../../src/index.js', import.meta.url).href;
  const url = new URL(`data:text/javascript,${encodeURIComponent(program)}`);
  const worker = new Worker(url, { workerData: { index, handle: server.handle, gate } });
  t.after(() => worker.terminate());
  const next = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
  await next();
  const answers = next();
  worker.postMessage('go');
  // The budget has room for one of them.
  await until(async () => {
    await server.infer('b', { x: [row()] });
    return !loaded(server).includes('a');
  });
  Atomics.store(new Int32Array(gate), 0, 1);
  Atomics.notify(new Int32Array(gate), 0);
  assert.deepEqual(await answers, ['answered', 'answered', 'answered', 'CANCELLED', 'answered']);
});
