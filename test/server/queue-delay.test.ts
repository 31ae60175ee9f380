/** The dynamic batcher as callers see it. native/test tests the single decisions. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferenceServer, InferResult } from '../../src/index.js';
import { asking, faulty, gate, held, type Gate } from '../faults/harness.js';
import {
  anyLength,
  batchCountsAfter,
  identity,
  row,
  serve,
  turn,
  until,
  type ConfigOptions,
  type Context,
} from '../support/harness.js';

/** A wait that outlasts every test. */
const forever = 'max_queue_delay_microseconds: 60000000';

function echo(t: Context, batching: string, options: ConfigOptions = {}): Promise<InferenceServer> {
  return serve(t, { echo: identity({ maxBatchSize: 8, batching, ...options }) });
}

/** A request of `rows` rows. */
function ask(server: InferenceServer, rows = 1): Promise<InferResult> {
  return server.infer('echo', { x: row(0, rows * 16) });
}

/** A server whose instance is occupied until `open` is called, so that the next requests wait. */
async function occupied(
  t: Context,
  batching: string,
  rows = 1,
): Promise<{ server: InferenceServer; first: Promise<InferResult>; open: Gate['open'] }> {
  const closed = await gate(t);
  const server = await serve(t, { echo: held(closed, { maxBatchSize: 8, batching }) });
  const first = ask(server, rows);
  await turn();
  return { server, first, open: () => closed.open() };
}

test('a lone request waits for the delay, and then runs', async (t) => {
  const server = await echo(t, 'max_queue_delay_microseconds: 30000');
  const { timings } = await ask(server);
  assert.ok(timings.queueNs >= 30e6, `${timings.queueNs} ns`);
});

test('delays are kept to the fraction of a millisecond', async (t) => {
  const server = await echo(t, 'max_queue_delay_microseconds: 300');
  // A busy machine is late many times, but not always.
  let shortest = Infinity;
  for (let i = 0; i < 15 || (i < 2000 && shortest >= 0.9); i++) {
    const wait = (await ask(server)).timings.queueNs / 1e6;
    assert.ok(wait >= 0.3, `${wait} ms`);
    shortest = Math.min(shortest, wait);
  }
  assert.ok(shortest < 0.9, `the shortest wait was ${shortest} ms`);
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
    await turn();
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
  const { server, first, open } = await occupied(t, 'preferred_batch_size: [ 2, 4 ]');
  const rest = Array.from({ length: 7 }, () => ask(server));
  await turn();
  await open();
  await Promise.all([first, ...rest]);
  assert.deepEqual(await batchCountsAfter(server, 'echo', 8), { 1: 2, 2: 1, 4: 1 });
});

test('when the delay is over a batch is not cut', async (t) => {
  const batching = 'preferred_batch_size: [ 2, 4 ] max_queue_delay_microseconds: 1000';
  const { server, first, open } = await occupied(t, batching, 4);
  const rest = Array.from({ length: 7 }, () => ask(server));
  await turn();
  const sent = performance.now();
  await until(() => performance.now() > sent + 1);
  await open();
  await Promise.all([first, ...rest]);
  assert.deepEqual(await batchCountsAfter(server, 'echo', 8), { 4: 1, 7: 1 });
});

test('a request that does not fit closes the batch that waits', async (t) => {
  const server = await echo(t, `preferred_batch_size: [ 8 ] ${forever}`);
  await Promise.all([ask(server, 5), ask(server, 8)]);
  assert.deepEqual(await batchCountsAfter(server, 'echo', 2), { 5: 1, 8: 1 });
});

test('a request of another shape closes the batch that waits', async (t) => {
  const server = await echo(t, `preferred_batch_size: [ 4 ] ${forever}`, anyLength);
  const shaped = (rows: number, width: number): Promise<InferResult> =>
    server.infer('echo', { x: { data: new Float32Array(rows * width), shape: [rows, width] } });
  await Promise.all([shaped(2, 3), shaped(4, 5)]);
  assert.deepEqual(await batchCountsAfter(server, 'echo', 2), { 2: 1, 4: 1 });
});

test('without a delay the first runs alone and the rest together', async (t) => {
  const { server, first, open } = await occupied(t, '');
  const rest = Array.from({ length: 6 }, () => ask(server));
  await turn();
  await open();
  await Promise.all([first, ...rest]);
  assert.deepEqual(await batchCountsAfter(server, 'echo', 7), { 1: 1, 6: 1 });
});

test('what waits behind a run that takes longer than the delay goes together when it ends', async (t) => {
  const { server, first, open } = await occupied(t, 'max_queue_delay_microseconds: 1000', 8);
  const rest = [ask(server), ask(server)];
  await turn();
  const sent = performance.now();
  await until(() => performance.now() > sent + 1);
  await open();
  const [second] = await Promise.all([...rest, first]);
  assert.equal(second.timings.batchSize, 2);
});

test('idle instances share what comes', async (t) => {
  const closed = await gate(t);
  const { parameters } = closed;
  const server = await serve(t, { echo: faulty({ parameters, instances: 2, maxBatchSize: 2 }) });
  const first = [1, 2].map(() => server.infer('echo', asking('held')));
  // These requests are answered while the first ones wait.
  await Promise.all([3, 4].map(() => server.infer('echo', asking('none'))));
  await closed.open();
  await Promise.all(first);
  assert.deepEqual(await batchCountsAfter(server, 'echo', 4), { 2: 2 });
});
