/**
 * Many requests are cancelled at once: each rejects, no other does, and the event loop keeps turning.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { TritonError } from '../../src/index.js';
import { floats, identity, row, serve } from '../support/harness.js';

/** Counts turns of the event loop until it is stopped. */
function countTurns(): { stop(): number } {
  let turns = 0;
  let on = true;
  const count = (): void => {
    turns++;
    if (on) setImmediate(count);
  };
  setImmediate(count);
  return {
    stop(): number {
      on = false;
      return turns;
    },
  };
}

test('one signal cancels fifty thousand queued requests, in turns of the event loop', async (t) => {
  const server = await serve(t, { slow: identity({ delayMs: 300, maxBatchSize: 4 }) });
  const x = row(1);
  const controller = new AbortController();
  const { signal } = controller;
  const errors = new Map<string, number>();
  const count = (error: TritonError): void => {
    errors.set(error.code, (errors.get(error.code) ?? 0) + 1);
    assert.match(error.message, /cancelled by its signal/);
  };
  const requests = Array.from({ length: 50_000 }, () =>
    server.infer('slow', { x }, { signal }).then(() => undefined, count),
  );
  const others = [2, 3, 4].map((first) => server.infer('slow', { x: row(first) }));
  await turn();
  const turns = countTurns();
  controller.abort();
  await Promise.all(requests);
  assert.ok(turns.stop() > 5);
  // On a busy machine a batch or two may have run before.
  const { CANCELLED = 0, ...rest } = Object.fromEntries(errors);
  assert.ok(CANCELLED > 49_900 && CANCELLED <= 50_000, `${CANCELLED} were cancelled`);
  assert.deepEqual(rest, {});
  assert.deepEqual(
    (await Promise.all(others)).map((result) => floats(result)[0]),
    [2, 3, 4],
  );
});

test('a map that is left with many requests in flight frees its memory, and others go on', async (t) => {
  const server = await serve(t, { slow: identity({ delayMs: 5, maxBatchSize: 64 }) });
  const model = server.model('slow');
  const x = row(5);
  const endless = (function* () {
    for (;;) yield { x };
  })();
  for await (const result of model.map(endless, { concurrency: 20_000 })) {
    assert.equal(floats(result)[0], 5);
    break;
  }
  assert.equal(floats(await model.infer({ x: row(6) }))[0], 6);
});

test('requests with a signal each are cancelled alone, whether they were sent or not', async (t) => {
  // Longer than a busy machine may take to a turn of the event loop.
  const server = await serve(t, { slow: identity({ delayMs: 500 }) });
  const controllers = Array.from({ length: 30 }, () => new AbortController());
  const requests = controllers.map(({ signal }, i) => server.infer('slow', { x: row(i) }, { signal }));
  const settled = Promise.allSettled(requests);
  // These are cancelled before they are sent.
  for (const [i, controller] of controllers.entries()) if (i % 3 === 0) controller.abort();
  await turn();
  for (const [i, controller] of controllers.entries()) if (i % 3 === 1) controller.abort();
  const outcomes = await settled;
  for (const [i, outcome] of outcomes.entries()) {
    if (i % 3 === 2) assert.equal(outcome.status === 'fulfilled' && floats(outcome.value)[0], i);
    else assert.equal(outcome.status === 'rejected' && (outcome.reason as TritonError).code, 'CANCELLED');
  }
});
