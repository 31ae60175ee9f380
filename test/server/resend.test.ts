/** Requests that are made before a reload, and reach the engine when the old version is gone. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { InferenceServer } from '../../src/index.js';
import { addModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { configText, onnx, start, type Context } from '../support/harness.js';
import type { Late, Outcomes } from './workers/late.js';

/** Longer than an unloaded version waits for an environment that does not respond, which is 1 s. */
const goneMs = 1800;

/** The outcomes of requests that a worker made just before `change` was done. */
async function lateOutcomes(
  context: Context,
  change: (server: InferenceServer, folder: string) => Promise<void>,
): Promise<Outcomes> {
  const options = { maxBatchSize: 128 };
  const folder = await writeRepository(await temporaryFolder(context), { add: onnx(addModel(), options) });
  const server = await start(context, folder, { modelControlMode: 'explicit', loadModels: ['add'] });
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const workerData: Late = { handle: server.handle, gate };
  const worker = new Worker(new URL('./workers/late.js', import.meta.url), { workerData });
  context.after(async () => {
    await worker.terminate();
  });
  await once(worker, 'message');
  const told = once(worker, 'message');
  await change(server, folder);
  await wait(goneMs);
  Atomics.store(gate, 0, 1);
  Atomics.notify(gate, 0);
  const [outcomes] = (await told) as [Outcomes];
  return outcomes;
}

test('after a reload they are answered by the new version, and refused where they are pinned to one', async (t) => {
  const { small, large, pinned } = await lateOutcomes(t, async (server, folder) => {
    await writeRepository(folder, { add: { versions: { '1': addModel({ addend: 10 }) } } });
    await server.loadModel('add');
  });
  assert.deepEqual(
    small,
    Array.from({ length: 20 }, (_, i) => i + 10),
  );
  assert.deepEqual(large, [11, 12]);
  assert.equal(pinned, 'UNAVAILABLE');
});

test('after an unload they are refused', async (t) => {
  const { small, large, pinned } = await lateOutcomes(t, async (server) => {
    await server.unloadModel('add');
  });
  for (const outcome of [...small, ...large, pinned]) {
    assert.ok(outcome === 'NOT_FOUND' || outcome === 'UNAVAILABLE', String(outcome));
  }
});

test('a new version that does not take them as they are refuses them', async (t) => {
  const { small } = await lateOutcomes(t, async (server, folder) => {
    const outputs = [{ name: 'y', dims: [4, 4] }];
    const inputs = [{ name: 'x', dims: [4, 4] }];
    const config = configText({ backend: 'identity', inputs, outputs });
    await writeRepository(folder, { add: { config, versions: { '1': {} } } });
    await server.loadModel('add');
  });
  assert.deepEqual([...new Set(small)], ['UNAVAILABLE']);
});
