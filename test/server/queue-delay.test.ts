/** What callers see of the dynamic batcher; its decisions one by one are tested in native/test. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferenceServer, InferResult } from '../../src/index.js';
import { batchCountsAfter, identity, row, serve, type ConfigOptions, type Context } from './harness.js';

/** A wait that no test lives to see the end of. */
const forever = 'max_queue_delay_microseconds: 60000000';

function echo(
  t: Context,
  batching: string,
  options: ConfigOptions & { delayMs?: number } = {},
): Promise<InferenceServer> {
  return serve(t, { echo: identity({ maxBatchSize: 8, batching, ...options }) });
}

/** A request of so many rows. */
function ask(server: InferenceServer, rows = 1): Promise<InferResult> {
  return server.infer('echo', { x: row(0, rows * 16) });
}

/** Occupies the instance, so that what is asked next waits. */
async function occupy(server: InferenceServer, rows = 1): Promise<{ first: Promise<InferResult> }> {
  const first = ask(server, rows);
  // One turn later the idle instance has it.
  await new Promise((resolve) => setImmediate(resolve));
  return { first };
}

test('a lone request waits as long as the delay', async (t) => {
  const server = await echo(t, 'max_queue_delay_microseconds: 30000');
  const { timings } = await ask(server);
  assert.ok(timings.queueNs >= 30e6, `${timings.queueNs} ns`);
  assert.ok(timings.queueNs < 200e6, `${timings.queueNs} ns`);
});

test('delays are kept to the fraction of a millisecond', async (t) => {
  const server = await echo(t, 'max_queue_delay_microseconds: 300');
  const waits: number[] = [];
  for (let i = 0; i < 15; i++) waits.push((await ask(server)).timings.queueNs / 1e6);
  waits.sort((a, b) => a - b);
  assert.ok(waits.every((wait) => wait >= 0.3));
  assert.ok((waits[0] ?? 1) < 0.9, `the shortest wait was ${waits[0]} ms`);
});

test('a full batch does not wait', async (t) => {
  const server = await echo(t, forever);
  await Promise.all(Array.from({ length: 8 }, () => ask(server)));
  assert.deepEqual(await batchCountsAfter(server, 'echo', 8), { 8: 1 });
});

test('requests of other ticks join the one that waits', async (t) => {
  const server = await echo(t, forever);
  const requests: Promise<InferResult>[] = [];
  for (let i = 0; i < 8; i++) {
    requests.push(ask(server));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(requests);
  assert.deepEqual(await batchCountsAfter(server, 'echo', 8), { 8: 1 });
});

test('a preferred size goes at once', async (t) => {
  const server = await echo(t, `preferred_batch_size: [ 2, 4 ] ${forever}`);
  await Promise.all([ask(server), ask(server)]);
  await Promise.all([1, 2, 3, 4].map(() => ask(server)));
  assert.deepEqual(await batchCountsAfter(server, 'echo', 6), { 2: 1, 4: 1 });
});

test('a batch is cut to the largest preferred size it has reached', async (t) => {
  const server = await echo(t, 'preferred_batch_size: [ 2, 4 ]', { delayMs: 20 });
  const { first } = await occupy(server);
  const rest = Array.from({ length: 7 }, () => ask(server));
  await Promise.all([first, ...rest]);
  assert.deepEqual(await batchCountsAfter(server, 'echo', 8), { 1: 2, 2: 1, 4: 1 });
});

test('when the delay is over a batch is not cut', async (t) => {
  const batching = 'preferred_batch_size: [ 2, 4 ] max_queue_delay_microseconds: 1000';
  const server = await echo(t, batching, { delayMs: 20 });
  const { first } = await occupy(server, 4);
  const rest = Array.from({ length: 7 }, () => ask(server));
  await Promise.all([first, ...rest]);
  assert.deepEqual(await batchCountsAfter(server, 'echo', 8), { 4: 1, 7: 1 });
});

test('a request that does not fit closes the batch that waits', async (t) => {
  const server = await echo(t, `preferred_batch_size: [ 8 ] ${forever}`);
  await Promise.all([ask(server, 5), ask(server, 8)]);
  assert.deepEqual(await batchCountsAfter(server, 'echo', 2), { 5: 1, 8: 1 });
});

test('a request of another shape closes the batch that waits', async (t) => {
  const dims = [-1];
  const tensors = { inputs: [{ name: 'x', dims }], outputs: [{ name: 'y', dims }] };
  const server = await echo(t, `preferred_batch_size: [ 4 ] ${forever}`, tensors);
  const shaped = (rows: number, width: number): Promise<InferResult> =>
    server.infer('echo', { x: { data: new Float32Array(rows * width), shape: [rows, width] } });
  await Promise.all([shaped(2, 3), shaped(4, 5)]);
  assert.deepEqual(await batchCountsAfter(server, 'echo', 2), { 2: 1, 4: 1 });
});

test('without a delay the first runs alone and the rest together', async (t) => {
  const server = await echo(t, '', { delayMs: 20 });
  const { first } = await occupy(server);
  const rest = Array.from({ length: 6 }, () => ask(server));
  await Promise.all([first, ...rest]);
  assert.deepEqual(await batchCountsAfter(server, 'echo', 7), { 1: 1, 6: 1 });
});

test('what waits behind a run that takes longer than the delay goes together when it ends', async (t) => {
  const server = await echo(t, 'max_queue_delay_microseconds: 5000', { delayMs: 20 });
  const { first } = await occupy(server, 8);
  const [second] = await Promise.all([ask(server), ask(server), first]);
  assert.equal(second.timings.batchSize, 2);
  assert.ok(second.timings.queueNs < 60e6, `${second.timings.queueNs} ns`);
});

test('idle instances share what comes', async (t) => {
  const server = await echo(t, '', { delayMs: 30, instances: 2, maxBatchSize: 2 });
  const begin = performance.now();
  await Promise.all([1, 2, 3, 4].map(() => ask(server)));
  assert.ok(performance.now() - begin < 58);
  assert.deepEqual(await batchCountsAfter(server, 'echo', 4), { 2: 2 });
});
