import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Caller } from '../../bench/contestants/contestant.js';
import { measure, timedLoops } from '../../bench/measuring/measure.js';

/** A caller that answers in the loop's next turn, and counts. */
function counting(): { caller: Caller; waiting: () => number; most: () => number; answered: () => number } {
  let waiting = 0;
  let most = 0;
  let answered = 0;
  const caller: Caller = {
    kind: 'caller',
    name: 'setImmediate',
    infer: () =>
      new Promise((resolve) => {
        most = Math.max(most, ++waiting);
        setImmediate(() => {
          waiting--;
          answered++;
          resolve(undefined);
        });
      }),
    read: () => new Float32Array(),
    close: () => Promise.resolve(),
  };
  return { caller, waiting: () => waiting, most: () => most, answered: () => answered };
}

test('a closed loop keeps as many requests outstanding as asked for, and leaves none', async () => {
  const { caller, waiting, most } = counting();
  await measure(caller, { outstanding: 5, warmUpMs: 1, windowMs: 5, timed: 5 });
  assert.equal(most(), 5);
  assert.equal(waiting(), 0);
});

test('only the answers of the window count', async () => {
  const { caller, answered } = counting();
  const round = await measure(caller, { outstanding: 3, warmUpMs: 5, windowMs: 10, timed: 1 });
  assert.ok(round.answers > 0);
  assert.ok(round.answers < answered());
  assert.ok(round.seconds >= 0.01);
  assert.equal(round.requestsPerSecond, round.answers / round.seconds);
});

test('a window holds only whole bursts of answers', async () => {
  const { caller } = counting();
  const { answers } = await measure(caller, { outstanding: 4, warmUpMs: 1, windowMs: 5, timed: 1 });
  assert.equal(answers % 4, 0);
});

test('latencies are in order', async () => {
  const { caller } = counting();
  const { latency } = await measure(caller, { outstanding: 2, warmUpMs: 1, windowMs: 5, timed: 2 });
  assert.ok(latency);
  assert.ok(latency.p50 > 0 && latency.p50 <= latency.p95 && latency.p95 <= latency.p99);
});

test('a request that fails ends the measurement with its error', async () => {
  const { caller } = counting();
  const failing: Caller = { ...caller, infer: () => Promise.reject(new Error('no answer')) };
  await assert.rejects(measure(failing, { outstanding: 2, warmUpMs: 1, windowMs: 5, timed: 1 }), /no answer/);
});

test('slow models have every loop timed, fast ones each 64th', () => {
  assert.equal(timedLoops(512, false), 512);
  assert.equal(timedLoops(512, true), 8);
  assert.equal(timedLoops(1, true), 1);
});
