import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import type { InferenceServer } from '../../src/index.js';
import { gate, held } from '../faults/harness.js';
import {
  batchCountsAfter,
  floats,
  identity,
  rejection,
  row,
  serve,
  statisticsAfter,
  turn,
  type ConfigOptions,
  type Context,
} from '../support/harness.js';

/** A server whose models `slow` and `other` do not end a run before `open` is called. */
async function serveHeld(
  context: Context,
  options: ConfigOptions = { batching: false },
): Promise<{ server: InferenceServer; open: () => Promise<void> }> {
  const closed = await gate(context);
  const slow = held(closed, options);
  return { server: await serve(context, { slow, other: slow, echo: identity() }), open: () => closed.open() };
}

test('a signal that is aborted already rejects with CANCELLED, and its reason as the cause', async (t) => {
  const server = await serve(t, { echo: identity() });
  const reason = new Error('too late');
  const error = await rejection(server.infer('echo', { x: row() }, { signal: AbortSignal.abort(reason) }));
  assert.equal(error.code, 'CANCELLED');
  assert.equal(error.cause, reason);
  assert.equal(error.model, 'echo');
  await server.infer('echo', { x: row() });
  assert.equal((await statisticsAfter(server, 'echo', 1)).inference_stats.fail.count, 0);
});

test('a signal that the inputs themselves abort rejects with CANCELLED', async (t) => {
  const server = await serve(t, { echo: identity() });
  const controller = new AbortController();
  const inputs = {
    get x(): Float32Array {
      controller.abort();
      return row();
    },
  };
  const error = await rejection(server.infer('echo', inputs, { signal: controller.signal }));
  assert.equal(error.code, 'CANCELLED');
});

test("what a signal has of its own does not run between an input's check and its copy", async (t) => {
  const server = await serve(t, { echo: identity() });
  const x = row(1);
  const { signal } = new AbortController();
  Object.defineProperty(signal, 'aborted', {
    get: () => {
      structuredClone(x, { transfer: [x.buffer] });
      return false;
    },
  });
  const { outputs } = await server.infer('echo', { x }, { signal });
  assert.deepEqual(outputs['y']?.toArray(), [[...row(1)]]);
});

test('a queued request rejects at once, before the one that runs has ended', async (t) => {
  const { server, open } = await serveHeld(t);
  const controller = new AbortController();
  const order: string[] = [];
  const running = server.infer('slow', { x: row(1) }).then(() => order.push('running'));
  const queued = server.infer('slow', { x: row(2) }, { signal: controller.signal });
  await turn();
  const reason = { any: 'thing' };
  controller.abort(reason);
  const error = await rejection(queued);
  order.push('queued');
  assert.equal(error.code, 'CANCELLED');
  assert.equal(error.cause, reason);
  await open();
  await running;
  assert.deepEqual(order, ['queued', 'running']);
});

test('a cancelled request that was queued is not run', async (t) => {
  const { server, open } = await serveHeld(t);
  const controller = new AbortController();
  const running = server.infer('slow', { x: row(1) });
  const queued = rejection(server.infer('slow', { x: row(2) }, { signal: controller.signal }));
  await turn();
  controller.abort();
  await queued;
  await open();
  await running;
  await server.infer('slow', { x: row(3) });
  const { execution_count, inference_stats } = await statisticsAfter(server, 'slow', 3);
  assert.equal(execution_count, 2);
  assert.deepEqual([inference_stats.success.count, inference_stats.fail.count], [2, 1]);
});

test('a request that is cancelled in the tick it was made in is not run', async (t) => {
  const { server, open } = await serveHeld(t);
  const controller = new AbortController();
  const running = server.infer('slow', { x: row(1) });
  const request = rejection(server.infer('slow', { x: row(2) }, { signal: controller.signal }));
  controller.abort();
  assert.equal((await request).code, 'CANCELLED');
  await open();
  await running;
  assert.equal((await statisticsAfter(server, 'slow', 2)).execution_count, 1);
});

test('a running request rejects at once too; its batch mates are answered', async (t) => {
  const { server, open } = await serveHeld(t, {});
  const controller = new AbortController();
  const cancelled = rejection(server.infer('slow', { x: row(1) }, { signal: controller.signal }));
  const mates = [2, 3].map((first) => server.infer('slow', { x: row(first) }));
  await turn();
  controller.abort();
  assert.equal((await cancelled).code, 'CANCELLED');
  await open();
  const results = await Promise.all(mates);
  assert.deepEqual(
    results.map((result) => floats(result)[0]),
    [2, 3],
  );
  assert.equal(results[0]?.timings.batchSize, 3);
});

test('a request that was cancelled while it ran counts as failed', async (t) => {
  const { server, open } = await serveHeld(t, {});
  const controller = new AbortController();
  const cancelled = rejection(server.infer('slow', { x: row(1) }, { signal: controller.signal }));
  const mate = server.infer('slow', { x: row(2) });
  await turn();
  controller.abort();
  await cancelled;
  await open();
  await mate;
  const { inference_count, inference_stats } = await statisticsAfter(server, 'slow', 2);
  assert.deepEqual([inference_stats.success.count, inference_stats.fail.count], [1, 1]);
  assert.equal(inference_count, 1);
});

test('cancelling does not free the instance: what waits is answered after the run', async (t) => {
  const { server, open } = await serveHeld(t);
  const controller = new AbortController();
  const running = rejection(server.infer('slow', { x: row(1) }, { signal: controller.signal }));
  await turn();
  const waiting = server.infer('slow', { x: row(2) });
  controller.abort();
  await running;
  // It does not run later, either.
  for (let i = 0; i < 20; i++) await server.infer('echo', { x: row() });
  assert.equal(server.model('slow').statistics().inference_stats.success.count, 0);
  await open();
  assert.deepEqual(floats(await waiting), [...row(2)]);
});

test('one signal cancels requests of several models', async (t) => {
  const { server } = await serveHeld(t);
  const { signal, controller } = ((controller) => ({ controller, signal: controller.signal }))(
    new AbortController(),
  );
  const requests = ['slow', 'slow', 'other', 'other'].map((name) =>
    rejection(server.infer(name, { x: row() }, { signal })),
  );
  await turn();
  controller.abort();
  const errors = await Promise.all(requests);
  assert.deepEqual(
    errors.map(({ code, model }) => [code, model]),
    ['slow', 'slow', 'other', 'other'].map((name) => ['CANCELLED', name]),
  );
});

test('a thousand requests put one listener on their signal, and take it off', async (t) => {
  const warnings: Error[] = [];
  const listen = (warning: Error): number => warnings.push(warning);
  process.on('warning', listen);
  t.after(() => process.off('warning', listen));
  const { server, open } = await serveHeld(t, { maxBatchSize: 1024 });
  const { signal } = new AbortController();
  const requests = Array.from({ length: 1000 }, () => server.infer('slow', { x: row() }, { signal }));
  await turn();
  assert.equal(getEventListeners(signal, 'abort').length, 1);
  await open();
  await Promise.all(requests);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  await turn();
  assert.deepEqual(warnings, []);
});

test('what a signal has of its own in place of its methods is not called, and cannot get in the way', async (t) => {
  const { server, open } = await serveHeld(t, {});
  const controller = new AbortController();
  const { signal } = controller;
  const call = (): never => {
    controller.abort();
    throw new Error('not me');
  };
  signal.addEventListener = signal.removeEventListener = call;
  Object.defineProperty(signal, 'reason', { get: call });
  assert.deepEqual(floats(await server.infer('echo', { x: row(1) }, { signal })), [...row(1)]);
  const mine = server.infer('slow', { x: row(2) }, { signal });
  const others = server.infer('slow', { x: row(3) });
  await turn();
  assert.equal(getEventListeners(signal, 'abort').length, 1);
  controller.abort();
  assert.equal((await rejection(mine)).code, 'CANCELLED');
  await open();
  assert.deepEqual(floats(await others), [...row(3)]);
  // close() would wait forever if a request were not counted as ended.
  await server.close();
});

test('a signal that is aborted after the answer changes nothing', async (t) => {
  const server = await serve(t, { echo: identity() });
  const controller = new AbortController();
  const { signal } = controller;
  await server.infer('echo', { x: row() }, { signal });
  controller.abort();
  await server.infer('echo', { x: row() });
  const { inference_stats } = await statisticsAfter(server, 'echo', 2);
  assert.equal(inference_stats.success.count, 2);
});

test('slots of cancelled requests are used again, without mixing answers up', async (t) => {
  const server = await serve(t, { slow: identity({ delayMs: 2 }) });
  for (let round = 0; round < 10; round++) {
    const controller = new AbortController();
    const requests = Array.from({ length: 20 }, (_, i) => {
      const signal = i % 2 === 0 ? controller.signal : undefined;
      return server.infer('slow', { x: row(100 * round + i) }, { signal }).then(
        (result) => floats(result)[0],
        () => undefined,
      );
    });
    if (round % 2 === 0) await turn();
    controller.abort();
    const answers = await Promise.all(requests);
    for (const [i, answer] of answers.entries()) {
      if (i % 2 === 1) assert.equal(answer, 100 * round + i);
    }
  }
});

test('a cancelled request leaves the batch to the others', async (t) => {
  const batching = 'preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 60000000';
  const server = await serve(t, { echo: identity({ batching }) });
  const controller = new AbortController();
  const cancelled = rejection(server.infer('echo', { x: row() }, { signal: controller.signal }));
  await turn();
  controller.abort();
  await cancelled;
  await Promise.all([1, 2, 3, 4].map(() => server.infer('echo', { x: row() })));
  assert.deepEqual(await batchCountsAfter(server, 'echo', 5), { 4: 1 });
});
