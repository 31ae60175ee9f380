import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer } from '../../../src/index.js';
import { floats, identity, onnx, row, serve, until } from '../../support/harness.js';
import { addModel } from '../../support/models.js';
import { polled, settle } from '../polling/harness.js';
import { writeRepository } from '../../support/repository.js';
import { attach } from '../../server/workers/client.js';
import { gated, isLoaded, loaded, metric } from './harness.js';

/** Less than any model takes, so that each load unloads all others that are idle. */
const tiny = { load: 'lazy', memoryBudgetBytes: 1, logger: {} } as const;

test('a load that does not fit unloads idle models, and what was known of them stays', async (t) => {
  const server = await serve(t, { a: onnx(), b: onnx(), c: onnx() }, tiny);
  for (const name of ['a', 'b', 'c', 'a']) {
    assert.deepEqual(floats(await server.infer(name, { x: row() })), [...row(1)]);
    assert.deepEqual(loaded(server), [name]);
  }
  assert.equal(metric(server, 'tritonts_lazy_loads'), 4);
  assert.equal(metric(server, 'tritonts_lazy_evictions'), 3);
  assert.equal(metric(server, 'tritonts_lazy_reloads'), 1);
  assert.equal(metric(server, 'tritonts_lazy_memory_budget_bytes'), 1);
  const model = server.model('b');
  assert.equal(model.ready, true);
  assert.deepEqual(model.metadata.versions, ['1']);
  assert.equal(model.config.max_batch_size, 64);
  assert.equal(isLoaded(server, 'b'), false);
  assert.deepEqual(
    server.index().find(({ name }) => name === 'b'),
    { name: 'b', version: '1', state: 'READY', reason: 'lazy: loaded at the next request' },
  );
});

test('a budget without a lazy model is warned of', async (t) => {
  const warnings: string[] = [];
  const logger = { warn: (text: string): void => void warnings.push(text) };
  await serve(t, { a: identity() }, { memoryBudgetBytes: 2 ** 30, logger });
  assert.match(
    warnings.join(),
    /^memoryBudgetBytes limits nothing so far, because no model is lazy: give load: 'lazy'/,
  );
  await serve(t, { a: identity() }, { memoryBudgetBytes: 2 ** 30, load: 'lazy', logger });
  assert.equal(warnings.length, 1);
});

test('nothing is unloaded while all fit', async (t) => {
  const names = ['a', 'b', 'c', 'd'];
  const server = await serve(t, Object.fromEntries(names.map((name) => [name, identity()])), {
    load: 'lazy',
    memoryBudgetBytes: 2 ** 40,
    logger: {},
  });
  for (const name of names) await server.infer(name, { x: row() });
  assert.deepEqual(loaded(server), names);
  assert.equal(metric(server, 'tritonts_lazy_evictions'), 0);
  assert.ok(metric(server, 'tritonts_lazy_memory_used_bytes') >= 4 * 64 * 1024);
});

test('a pinned model stays, and so does one that is not lazy', async (t) => {
  const models = {
    pinned: onnx(addModel(), { parameters: { pinned: 'true' } }),
    eager: onnx(addModel(), { parameters: { load: 'eager' } }),
    a: onnx(),
    b: onnx(),
  };
  const server = await serve(t, models, tiny);
  for (const name of ['pinned', 'a', 'b', 'a']) await server.infer(name, { x: row() });
  assert.deepEqual(loaded(server), ['a', 'eager', 'pinned']);
});

test('a model with a request that runs stays, and the load of another one waits for it', async (t) => {
  const server = await serve(t, { slow: identity({ delayMs: 300 }), quick: onnx() }, tiny);
  await server.infer('slow', { x: row() });
  const running = server.infer('slow', { x: row() });
  let isDone = false;
  void running.then(() => (isDone = true));
  await server.infer('quick', { x: row() });
  assert.equal(isDone, true);
  assert.deepEqual(floats(await running), [...row()]);
  assert.deepEqual(loaded(server), ['quick']);
});

test('a model with a live sequence stays until it has ended', async (t) => {
  const more = 'sequence_batching { max_sequence_idle_microseconds: 60000000 }';
  const server = await serve(t, { state: identity({ batching: false, more }), other: onnx() }, tiny);
  const sequence = server.model('state').sequence();
  await sequence.infer({ x: row() });
  const other = server.infer('other', { x: row() });
  await sequence.infer({ x: row() });
  assert.equal(isLoaded(server, 'state'), true);
  await sequence.end({ x: row() });
  await other;
  assert.deepEqual(loaded(server), ['other']);
});

test('no request fails while its model is unloaded and loaded again, of threads either', async (t) => {
  const server = await serve(t, { a: identity(), b: identity(), c: identity() }, tiny);
  const worker = await attach(t, server.handle);
  const own = async (first: number): Promise<void> => {
    for (let i = 0; i < 60; i++) {
      const name = 'abc'[(first + i) % 3] ?? '';
      assert.deepEqual(floats(await server.infer(name, { x: row(i) })), [...row(i)]);
    }
  };
  const others = async (name: string): Promise<void> => {
    for (let i = 0; i < 20; i++) assert.deepEqual(await worker.ask('infer', { name, count: 2 }), [0, 1]);
  };
  await Promise.all([own(0), own(1), own(2), others('a'), others('b')]);
  assert.ok(metric(server, 'tritonts_lazy_evictions') >= 3);
});

test('a budget that is too small is told once, with the figures', async (t) => {
  const warnings: string[] = [];
  const server = await serve(
    t,
    { a: onnx(), b: onnx() },
    { load: 'lazy', memoryBudgetBytes: 1, logger: { warn: (message) => void warnings.push(message) } },
  );
  for (const name of ['a', 'b', 'a', 'b']) await server.infer(name, { x: row() });
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /exceeds the memory budget of 1 bytes: it is loaded alone/);
  assert.equal(metric(server, 'tritonts_lazy_loads_over_budget'), 4);
});

test('polls leave lazy models alone that are not loaded, reload those that are, and forget those that are gone', async (t) => {
  const { server, folder } = await polled(t, { a: onnx(), b: onnx() }, { load: 'lazy' });
  assert.equal(await settle(server), '');
  await server.infer('a', { x: row() });
  await writeFile(join(folder, 'a', '1', 'model.onnx'), addModel({ addend: 2 }));
  await writeFile(join(folder, 'b', '1', 'model.onnx'), addModel({ addend: 3 }));
  await writeRepository(folder, { fresh: onnx() });
  assert.equal(await settle(server), '~a:1-1');
  assert.deepEqual(loaded(server), ['a']);
  for (const [name, addend] of [
    ['a', 2],
    ['b', 3],
    ['fresh', 1],
  ] as const)
    assert.deepEqual(floats(await server.infer(name, { x: row() })), [...row(addend)]);
  await rm(join(folder, 'b'), { recursive: true });
  assert.equal(await settle(server), '-b');
  await until(() => !server.index().some(({ name }) => name === 'b'));
});

test('models that the program gives are loaded again, too', async (t) => {
  const [a, b] = [gated(), gated()];
  a.open();
  b.open();
  const server = await createServer({ ...tiny, models: { a: a.model, b: b.model } });
  t.after(() => server.close({ timeoutMs: 0 }));
  for (const name of ['a', 'b', 'a'])
    assert.deepEqual(floats(await server.infer(name, { x: row() })), [...row(1)]);
  assert.deepEqual([a.begun(), b.begun()], [2, 1]);
  await until(() => !isLoaded(server, 'b'));
});
