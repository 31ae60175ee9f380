/** Caches that the program registers, in the life of servers: workers, unloads, many requests, and a loop that is blocked. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { registerCache } from '../../../src/cache/registered-caches.js';
import type { CachedAnswer, CachedValue, ResponseCache } from '../../../src/cache/response-cache.js';
import { addModel } from '../../support/models.js';
import { chain, ensemble, onnx, rejection, row, serve, turn, until } from '../../support/harness.js';

const cached = 'response_cache { enable: true }';
let names = 0;

/** Registers a cache, and returns its part of `cacheConfig`. */
function registered(cache: ResponseCache): Record<string, object> {
  const name = `life-${++names}`;
  registerCache(name, cache);
  return { [name]: {} };
}

/** A cache in a map. */
function inMap(): ResponseCache & { readonly stored: Map<string, Uint8Array> } {
  const stored = new Map<string, Uint8Array>();
  return {
    stored,
    lookup: (keys: readonly string[]): CachedValue[] => keys.map((key) => stored.get(key)),
    insert: (entries: readonly CachedAnswer[]): void => {
      for (const { key, value } of entries) stored.set(key, value);
    },
  };
}

test('requests of a worker are looked up on the event loop of the owner', async (t) => {
  const cache = inMap();
  const server = await serve(
    t,
    { add: onnx(addModel(), { more: cached }) },
    { cacheConfig: registered(cache) },
  );
  await server.infer('add', { x: row() });
  await until(() => cache.stored.size === 1);
  const code = `
    import { parentPort, workerData } from 'node:worker_threads';
    import { attachServer } from ${JSON.stringify(new URL('../../../src/index.js', import.meta.url).href)};
    const server = await attachServer(workerData.handle);
    const hits = [];
    const ask = async (first) => {
      const x = Float32Array.from({ length: 16 }, (_, i) => first + i);
      const { timings, outputs } = await server.infer('add', { x });
      return [timings.cacheHit, outputs.y.data[0]];
    };
    hits.push(...(await ask(0)), ...(await ask(1)));
    // The owner stores the answer after it was given.
    let stored = await ask(1);
    while (!stored[0]) stored = await ask(1);
    hits.push(...stored);
    const { cache } = server.explain('add');
    await server.close();
    parentPort.postMessage([hits, cache.hits]);`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), {
    workerData: { handle: server.handle },
  });
  const said = await new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  assert.deepEqual(said, [[true, 1, false, 2, true, 2], 2]);
});

test('a worker that owns a server with a cache may be terminated in a look-up', async () => {
  const code = `
    import { parentPort } from 'node:worker_threads';
    import { createServer, registerCache } from ${JSON.stringify(new URL('../../../src/index.js', import.meta.url).href)};
    registerCache('slow', { lookup: () => new Promise(() => parentPort.postMessage('asked')), insert: () => {} });
    const tensor = (name) => [{ name, data_type: 'TYPE_FP32', dims: [1] }];
    const server = await createServer({
      cacheConfig: { slow: {} },
      models: { m: {
        config: { input: tensor('x'), output: tensor('y'), response_cache: { enable: true } },
        execute: (requests) => requests.map(({ inputs }) => ({ y: inputs.x.data })),
      } },
    });
    await server.infer('m', { x: [1] });`;
  for (let i = 0; i < 3; i++) {
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`));
    await new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    await worker.terminate();
  }
});

test('a model may be loaded again and unloaded while its requests are looked up', async (t) => {
  const waiting: (() => void)[] = [];
  const cache = inMap();
  const server = await serve(
    t,
    { add: onnx(addModel(), { more: cached }) },
    {
      modelControlMode: 'explicit',
      loadModels: ['add'],
      cacheConfig: {
        ...registered({
          lookup: async (keys, signal) => {
            await new Promise<void>((resolve) => waiting.push(resolve));
            return cache.lookup(keys, signal);
          },
          insert: (entries) => cache.insert(entries),
        }),
        lookupTimeoutMs: 60_000,
      },
    },
  );
  const answers = Array.from({ length: 5 }, (_, i) => server.infer('add', { x: row(i) }));
  await until(() => waiting.length === 1);
  await server.loadModel('add', { force: true });
  const later = server.infer('add', { x: row(9) });
  await until(() => waiting.length === 2);
  const unloaded = server.unloadModel('add');
  await turn();
  for (const resolve of waiting) resolve();
  for (const [i, { outputs }] of (await Promise.all(answers)).entries()) {
    assert.equal(outputs['y']?.data[0], i + 1);
  }
  assert.equal((await later).outputs['y']?.data[0], 10);
  await unloaded;
  assert.equal((await rejection(server.infer('add', { x: row() }))).code, 'NOT_FOUND');
  // The files are the same, so what was stored is found again.
  await server.loadModel('add');
  const again = server.infer('add', { x: row(9) });
  await until(() => {
    for (const resolve of waiting) resolve();
    return waiting.length >= 3;
  });
  assert.ok((await again).timings.cacheHit);
});

test('a hundred thousand requests in flight are looked up, and answered', async (t) => {
  const cache = inMap();
  let release: (() => void) | undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  let asked = 0;
  const server = await serve(
    t,
    { add: onnx(addModel(), { more: cached }) },
    {
      maxInFlightBytes: 2 ** 30,
      cacheConfig: {
        ...registered({
          lookup: async (keys, signal) => {
            asked += keys.length;
            await released;
            return cache.lookup(keys, signal);
          },
          insert: (entries) => cache.insert(entries),
        }),
        lookupTimeoutMs: 60_000,
        coalesce: false,
      },
    },
  );
  const model = server.model('add');
  const count = 100_000;
  const all = Array.from({ length: count }, (_, i) => model.infer({ x: row(i % 1000) }));
  await until(() => asked === count);
  release?.();
  const answers = await Promise.all(all);
  for (const [i, { outputs }] of answers.entries()) assert.equal(outputs['y']?.data[0], (i % 1000) + 1);
  await until(() => cache.stored.size === 1000);
  const begin = performance.now();
  const hits = await Promise.all(Array.from({ length: 20_000 }, (_, i) => model.infer({ x: row(i % 1000) })));
  assert.ok(hits.every(({ timings }) => timings.cacheHit));
  t.diagnostic(`${((performance.now() - begin) / 20).toFixed(2)} µs for each of 20,000 hits`);
});

test('an event loop that is blocked delays requests of others by the limit', async (t) => {
  const cache = inMap();
  const server = await serve(
    t,
    { add: onnx(addModel(), { more: cached }) },
    { cacheConfig: { ...registered(cache), lookupTimeoutMs: 500 } },
  );
  const code = `
    import { parentPort, workerData } from 'node:worker_threads';
    import { attachServer } from ${JSON.stringify(new URL('../../../src/index.js', import.meta.url).href)};
    const server = await attachServer(workerData.handle);
    await server.infer('add', { x: new Float32Array(16) });
    parentPort.postMessage('ready');
    await new Promise((resolve) => parentPort.once('message', resolve));
    const begin = performance.now();
    await server.infer('add', { x: new Float32Array(16).fill(1) });
    const took = performance.now() - begin;
    await server.close();
    Atomics.store(workerData.took, 0, Math.round(took));
    Atomics.notify(workerData.took, 0);`;
  const took = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), {
    workerData: { handle: server.handle, took },
  });
  await new Promise((resolve) => worker.once('message', resolve));
  // On a busy machine a look-up may have taken too long, and then others are not tried for a while.
  await until(async () => {
    await server.infer('add', { x: row(2) });
    return server.explain('add').cache?.up === true;
  });
  worker.postMessage('go');
  // This is the owner's event loop.
  Atomics.wait(took, 0, 0, 20_000);
  assert.ok((took[0] ?? 0) >= 495 && (took[0] ?? 0) < 15_000, `${took[0]} ms`);
});

test('an ensemble and its models are stored apart, and a model that changes changes the ensemble', async (t) => {
  const cache = inMap();
  const options = { modelControlMode: 'explicit', loadModels: ['*'] } as const;
  const server = await serve(
    t,
    { add: onnx(addModel(), { more: cached }), e: ensemble(chain(['add']), { more: cached }) },
    { ...options, cacheConfig: registered(cache) },
  );
  const infer = async (): Promise<readonly [unknown, boolean]> => {
    const { outputs, timings } = await server.infer('e', { x: row() });
    return [outputs['y']?.data[0], timings.cacheHit];
  };
  assert.deepEqual(await infer(), [1, false]);
  await until(() => cache.stored.size === 2);
  assert.deepEqual(await infer(), [1, true]);
  const { config } = server.model('add');
  await server.loadModel('add', { config, files: { '1/model.onnx': addModel({ addend: 5 }) } });
  assert.deepEqual(await infer(), [5, false]);
  await until(() => cache.stored.size === 4);
  assert.deepEqual(await infer(), [5, true]);
  // What it was before.
  await server.loadModel('add', { force: true });
  assert.deepEqual(await infer(), [1, true]);
});
