/** Signals of requests whose responses come late, while other requests use their groups. */

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import type { TritonError } from '../../src/index.js';
import { floats, identity, row, serve } from '../support/harness.js';

test('a signal never cancels what came to be where its own request was', async (t) => {
  const server = await serve(t, { echo: identity({ maxBatchSize: 64 }), slow: identity({ delayMs: 20 }) });
  // There are more than one turn of the event loop delivers, each with a signal of its own.
  for (let round = 0; round < 5; round++) {
    const controllers = Array.from({ length: 3000 }, () => new AbortController());
    const first = controllers.map(({ signal }, i) => server.infer('echo', { x: row(i) }, { signal }));
    const followers = first.map(async (request, i) => {
      assert.equal(floats(await request)[0], i);
      // This request takes the place of one that has ended, with another signal.
      const { signal } = new AbortController();
      const again = server.infer(i % 100 === 0 ? 'slow' : 'echo', { x: row(i + 1) }, { signal });
      controllers[i]?.abort();
      const result = await again;
      assert.equal(getEventListeners(signal, 'abort').length, 0);
      return floats(result)[0];
    });
    const outcomes = await Promise.allSettled(followers);
    for (const [i, outcome] of outcomes.entries()) {
      assert.equal(
        outcome.status === 'fulfilled' ? outcome.value : (outcome.reason as TritonError).message,
        i + 1,
      );
    }
    for (const { signal } of controllers) assert.equal(getEventListeners(signal, 'abort').length, 0);
  }
});
