/** Lazy models that have failed or slept: what ends a pause, versions that come meanwhile, and what `explain` and the metrics tell. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer, type InferenceServer } from '../../../src/index.js';
import { chain, ensemble, floats, onnx, rejection, row, start, until } from '../../support/harness.js';
import { addModel } from '../../support/models.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { addressOf } from '../../client/harness.js';
import { gated, isLoaded, metric } from './harness.js';

const broken = onnx(new Uint8Array([1, 2, 3]));

const longMs = 4000;

/** Fails until the pause is at least {@link longMs}. */
async function failOften(server: InferenceServer, name: string): Promise<void> {
  while ((server.explain(name).lazy?.pauseMs ?? 0) < longMs) {
    await rejection(server.infer(name, { x: row() }));
    await until(() => {
      const pauseMs = server.explain(name).lazy?.pauseMs ?? 0;
      return pauseMs === 0 || pauseMs >= longMs;
    });
  }
}

const answers = (server: InferenceServer, name: string): Promise<boolean> =>
  server.infer(name, { x: row() }).then(
    () => true,
    () => false,
  );

for (const [way, repair] of Object.entries({
  'whose files are changed': (folder: string) =>
    writeFile(join(folder, 'part', '1', 'model.onnx'), addModel()),
  'that is loaded': async (folder: string, server: InferenceServer) => {
    await writeFile(join(folder, 'part', '1', 'model.onnx'), addModel());
    await server.loadModel('part');
  },
}))
  test(`a repaired part ${way} ends the pause of its ensemble`, async (t) => {
    const models = { part: broken, e: ensemble(chain(['part', 'part'])) };
    const folder = await writeRepository(await temporaryFolder(t), models);
    const server = await start(t, folder, { load: 'lazy', logger: {} });
    await failOften(server, 'e');
    const began = performance.now();
    await repair(folder, server);
    await until(() => answers(server, 'e'));
    assert.ok(performance.now() - began < longMs - 500, `it took ${performance.now() - began} ms`);
  });

test('a part whose load failed for its ensemble is not ready, until its pause ends', async (t) => {
  const models = { part: broken, e: ensemble(chain(['part', 'part'])) };
  const folder = await writeRepository(await temporaryFolder(t), models);
  const server = await start(t, folder, { load: 'lazy', logger: {} });
  await rejection(server.infer('e', { x: row() }));
  assert.ok((server.explain('part').lazy?.pauseMs ?? 0) > 0);
  await until(() => server.model('part').ready);
});

for (const mode of ['none', 'explicit'] as const)
  test(`loadModel tries a failed model again during its pause, in mode ${mode}`, async (t) => {
    const { model, open } = gated();
    open(new Error('no weights'));
    const options = { load: 'lazy', modelControlMode: mode, logger: {} } as const;
    const server = await createServer({
      ...options,
      models: { m: model },
      loadModels: mode === 'none' ? undefined : ['m'],
    });
    t.after(() => server.close({ timeoutMs: 0 }));
    await rejection(server.infer('m', { x: row() }));
    assert.equal(server.explain('m').lazy?.state, 'failed');
    open();
    await server.loadModel('m');
    assert.deepEqual(floats(await server.infer('m', { x: row() })), [...row(1)]);
    const { loads, failedLoads, waits, state } = server.explain('m').lazy ?? {};
    assert.deepEqual([loads, failedLoads, waits, state], [1, 1, 2, 'loaded']);
    assert.equal(metric(server, 'tritonts_lazy_load_failures'), 1);
    assert.equal(metric(server, 'tritonts_lazy_waits'), 2);
  });

test('a version that is added while its model is not loaded is ready, and answers', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { a: onnx(), b: onnx() });
  const server = await start(t, folder, { load: 'lazy', memoryBudgetBytes: 1, logger: {} });
  const address = await addressOf(t, 'http', server);
  for (const name of ['a', 'b']) await server.infer(name, { x: row() });
  assert.equal(isLoaded(server, 'a'), false);
  await cp(join(folder, 'a', '1'), join(folder, 'a', '2'), { recursive: true });
  await writeFile(join(folder, 'a', '2', 'model.onnx'), addModel({ addend: 2 }));
  assert.equal(server.model('a', 2).ready, true, 'it may be there');
  assert.equal((await fetch(`${address}/v2/models/a/versions/2/ready`)).status, 200);
  assert.equal(isLoaded(server, 'a'), false);
  // Its metadata are known when it is loaded.
  const metadata: unknown = await (await fetch(`${address}/v2/models/a/versions/2`)).json();
  assert.deepEqual((metadata as { readonly versions: readonly string[] }).versions, ['2']);
  await server.infer('b', { x: row() });
  assert.equal(isLoaded(server, 'a'), false);
  assert.deepEqual(floats(await server.infer('a', { x: row() }, { version: 2 })), [...row(2)]);
  assert.equal(server.model('a', 9).ready, false, 'what there is is known while it is loaded');
  assert.equal((await rejection(server.infer('a', { x: row() }, { version: 9 }))).code, 'NOT_FOUND');
});

test('explain tells the state of a lazy model, its memory and what was waited', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), {
    a: onnx(),
    b: onnx(),
    pinned: onnx(addModel(), { parameters: { pinned: 'true' } }),
    eager: onnx(addModel(), { parameters: { load: 'eager' } }),
  });
  const server = await start(t, folder, { load: 'lazy', memoryBudgetBytes: 1, logger: {} });
  const before = server.explain('a');
  assert.deepEqual(before.lazy, {
    ...{ state: 'asleep', pauseMs: 0, isPinned: false, loads: 0, failedLoads: 0, evictions: 0 },
    ...{ waits: 0, waitedMs: 0 },
  });
  assert.equal(before.summary, 'The model is lazy, and not loaded: the next request has it loaded.');
  assert.deepEqual([before.limit, before.version], ['nothing', '']);
  await server.infer('a', { x: row() });
  const { lazy, version } = server.explain('a');
  assert.deepEqual(
    [lazy?.state, version, lazy?.loads, lazy?.evictions, lazy?.waits],
    ['loaded', '1', 1, 0, 1],
  );
  assert.ok((lazy?.bytes ?? 0) >= 64 * 1024 && (lazy?.waitedMs ?? 0) > 0 && (lazy?.idleMs ?? 1e9) < 60_000);
  await server.infer('b', { x: row() });
  const after = server.explain('a').lazy;
  assert.deepEqual([after?.state, after?.evictions, after?.bytes], ['asleep', 1, lazy?.bytes]);
  await server.infer('pinned', { x: row() });
  assert.equal(server.explain('pinned').lazy?.isPinned, true);
  assert.equal(server.explain('eager').lazy, undefined);
});
