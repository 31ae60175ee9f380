/** What a budget knows of models: what their runtimes say, and what their processes take. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mlpModel } from '../../support/models.js';
import { onnx, row, serve, type Context } from '../../support/harness.js';
import type { InferenceServer } from '../../../src/index.js';
import { processBytes } from '../../../src/registry/lazy/told-memory.js';
import { adds, script, serving, skip } from '../../python/harness.js';
import { metric } from './harness.js';

const mib = 2 ** 20;
const ample = { load: 'lazy', memoryBudgetBytes: 2 ** 40, logger: {} } as const;

/** Memory that no heap of JavaScript has, which a program takes while a promise is pending. */
async function takeMemoryDuring(t: Context, done: Promise<unknown>): Promise<number> {
  const taken: SharedArrayBuffer[] = [];
  t.after(() => {
    taken.length = 0;
    return Promise.resolve();
  });
  const state = { isDone: false };
  void done.finally(() => (state.isDone = true)).catch(() => undefined);
  while (!state.isDone && taken.length < 60) {
    const memory = new SharedArrayBuffer(10 * mib);
    new Uint8Array(memory).fill(1);
    taken.push(memory);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await done;
  return taken.length * 10 * mib;
}

const bytesOf = (server: InferenceServer, name: string): number => server.explain(name).lazy?.bytes ?? NaN;

test('what the program takes meanwhile does not count for a model whose runtime tells', async (t) => {
  const server = await serve(t, { a: onnx(), b: onnx() }, ample);
  const taken = await takeMemoryDuring(t, server.infer('a', { x: row() }));
  assert.ok(taken >= 10 * mib, `${taken} bytes`);
  assert.ok(bytesOf(server, 'a') < 4 * mib, `${bytesOf(server, 'a')} bytes`);
});

test('weights count with what the runtime says, and what the first request takes is added', async (t) => {
  const weights = 600 * 600 * 4;
  const wide = { config: 'max_batch_size: 4096', versions: { '1': mlpModel([16, 600, 600, 16]) } };
  const server = await serve(t, { wide, other: onnx(), more: onnx() }, ample);
  await server.infer('wide', { x: row() });
  const first = bytesOf(server, 'wide');
  assert.ok(first >= weights && first < 3 * weights, `${first} bytes`);
  const told = (): number => server.statistics('wide')[0]?.memory_usage[0]?.byte_size ?? NaN;
  const [before, x] = [told(), new Float32Array(16 * 4000)];
  await server.infer('wide', { x: { data: x, shape: [4000, 16] } });
  const grown = told() - before;
  assert.ok(grown > 8 * mib, `the arena has grown by ${grown} bytes`);
  // It is asked again before another load.
  await server.infer('other', { x: row() });
  await server.infer('more', { x: row() });
  assert.ok(bytesOf(server, 'wide') >= first + grown - mib, `${bytesOf(server, 'wide')} bytes`);
  assert.ok(metric(server, 'tritonts_lazy_memory_used_bytes') >= bytesOf(server, 'wide'));
});

test('the process of a Python model counts', { skip }, async (t) => {
  const server = await serving(t, { p: script(adds) }, ample);
  await server.infer('p', { x: row() });
  // An interpreter with numpy.
  assert.ok(bytesOf(server, 'p') > 5 * mib, `${bytesOf(server, 'p')} bytes`);
});

test('a process that there is not takes nothing', async () => {
  assert.equal(await processBytes(2 ** 30), 0);
  if (process.platform === 'linux') assert.ok((await processBytes(process.pid)) > 10 * mib);
});
