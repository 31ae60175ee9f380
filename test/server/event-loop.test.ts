import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { test } from 'node:test';
import { slowModel } from '../support/models.js';
import { identity, onnx, row, serve } from './harness.js';

test('the loop is free while a model runs for a long time', async (t) => {
  const server = await serve(t, { slow: onnx(slowModel()) });
  await server.infer('slow', { x: row() });
  let ticks = 0;
  const timer = setInterval(() => ticks++, 10);
  const begin = performance.now();
  await server.infer('slow', { x: row() });
  const ms = performance.now() - begin;
  clearInterval(timer);
  assert.ok(ms > 60, `the model took only ${ms} ms`);
  assert.ok(ticks >= 5, `${ticks} ticks in ${ms} ms`);
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
  await Promise.all(Array.from({ length: 8000 }, () => model.infer({ x: row() })));
  const delay = monitorEventLoopDelay({ resolution: 1 });
  let turns = 0;
  let answered = 0;
  const turn = (): void => {
    turns++;
    if (answered < 8000) setImmediate(turn);
  };
  const requests = Array.from({ length: 8000 }, () => model.infer({ x: row() }).then(() => answered++));
  delay.enable();
  setImmediate(turn);
  await Promise.all(requests);
  delay.disable();
  // At most 1,024 answers, or 0.2 ms of them, a turn.
  assert.ok(turns >= 4, `${turns} turns`);
});
