// Long: it measures for seconds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TritonError } from '../../src/index.js';
import { slowModel } from '../support/models.js';
import { identity, onnx, rejection, row, serve, turn } from '../support/harness.js';
import { turnsUntil } from '../support/turns.js';

test('the loop is free while a model runs for a long time', async (t) => {
  // Longer than any test.
  const server = await serve(t, { slow: onnx(slowModel(1e9)) });
  const running = rejection(server.infer('slow', { x: row() }));
  await turn();
  // A loop that the run held up would have no turn before close() ends it.
  for (let tick = 0; tick < 5; tick++) await sleep(10);
  assert.equal(server.model('slow').statistics().inference_stats.fail.count, 0);
  await server.close({ timeoutMs: 0 });
  assert.equal((await running).model, 'slow');
});

test('callers that await one answer after another let timers in', async (t) => {
  const server = await serve(t, { echo: identity() });
  const model = server.model('echo');
  let stop = false;
  const caller = async (): Promise<void> => {
    while (!stop) await model.infer({ x: row() });
  };
  const callers = Promise.all(Array.from({ length: 64 }, caller));
  let ticks = 0;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      if (++ticks < 20) return;
      clearInterval(timer);
      resolve();
    }, 1);
  });
  stop = true;
  await callers;
});

test('many answers at once are delivered with turns of the loop between', async (t) => {
  const server = await serve(t, { echo: identity({ maxBatchSize: 4096 }) });
  const model = server.model('echo');
  const count = 8000;
  let answered = 0;
  const answers: number[] = [];
  const ended = Promise.all(
    Array.from({ length: count }, () => model.infer({ x: row() }).then(() => answered++)),
  );
  for (let before = 0; before < count; before = answered) {
    await turn();
    answers.push(answered - before);
  }
  await ended;
  // A delivery has at most 1,024 responses. A turn may have two: one for what was left, and one for what arrives.
  const most = Math.max(...answers);
  assert.ok(most <= 2048, `${most} answers in a turn: ${answers.join(' ')}`);
});

test('the classes of a large output are found with turns of the loop between', async (t) => {
  const tensor = (name: string) => ({ name, datatype: 'FP32', dims: [-1] }) as const;
  const echo = identity({ maxBatchSize: 0, inputs: [tensor('x')], outputs: [tensor('y')] });
  const server = await serve(t, { echo });
  const x = Float32Array.from({ length: 2 ** 20 }, (_, i) => i);
  const options = { outputs: [{ name: 'y', classification: 1000 }] };
  // Ascending elements are the worst case for the heap, which takes tens of milliseconds.
  const answer = server.infer('echo', { x }, options);
  assert.ok((await turnsUntil(answer)) > 10);
  assert.deepEqual((await answer).outputs['y']?.strings().slice(0, 2), [
    '1048575.000000:1048575',
    '1048574.000000:1048574',
  ]);
});

test('the search for classes ends with its request: time limits, signals, close, and a limit of what waits', async (t) => {
  const tensor = (name: string) => ({ name, datatype: 'FP32', dims: [-1] }) as const;
  const echo = identity({ maxBatchSize: 0, inputs: [tensor('x')], outputs: [tensor('y')] });
  const server = await serve(t, { echo });
  const x = Float32Array.from({ length: 2 ** 20 }, (_, i) => i);
  const options = { outputs: [{ name: 'y', classification: 65_536 }] };
  const some = Promise.allSettled(Array.from({ length: 6 }, () => server.infer('echo', { x }, options)));
  const small = { x: x.subarray(0, 1000) };
  const late = rejection(server.infer('echo', small, { ...options, timeoutMs: 20 }));
  const controller = new AbortController();
  const stopped = rejection(server.infer('echo', small, { ...options, signal: controller.signal }));
  await turn();
  controller.abort();
  assert.equal((await late).reason, 'TIMED_OUT');
  assert.equal((await stopped).code, 'CANCELLED');
  assert.ok((await some).every(({ status }) => status === 'fulfilled'));
  const outcomes = Promise.allSettled(Array.from({ length: 40 }, () => server.infer('echo', { x }, options)));
  await server.close();
  const reasons = (await outcomes).map((one) =>
    one.status === 'fulfilled' ? 'ok' : (one.reason as TritonError).reason,
  );
  // There is room for eight requests at a time.
  assert.ok(reasons.includes('ok') && reasons.includes('TOO_MUCH_IN_FLIGHT'), reasons.join());
  assert.ok(
    reasons.every((one) => one === 'ok' || one === 'TOO_MUCH_IN_FLIGHT'),
    reasons.join(),
  );
});
