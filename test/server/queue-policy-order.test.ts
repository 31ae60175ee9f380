/** `preserve_ordering` as callers see it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferenceServer, InferResult } from '../../src/index.js';
import { asking, faulty, gate, type FaultName, type Gate } from '../faults/harness.js';
import { floats, rejection, row, serve, statisticsAfter, turn, type Context } from '../support/harness.js';

interface Ordered {
  readonly server: InferenceServer;
  /** The gate at which 'held' requests wait. */
  readonly closed: Gate;
}

/** A model with two instances: one may be held while the other one answers. */
async function two(t: Context, batching: string): Promise<Ordered> {
  const closed = await gate(t);
  const { parameters } = closed;
  const model = faulty({ maxBatchSize: 1, batching, instances: 2, parameters });
  return { server: await serve(t, { faulty: model }), closed };
}

const inOrder = 'preserve_ordering: true';

/** Sends requests for these faults. `order` gets their positions as they settle. */
function askEach(
  server: InferenceServer,
  all: readonly FaultName[],
): { readonly requests: readonly Promise<InferResult>[]; readonly order: readonly number[] } {
  const order: number[] = [];
  const requests = all.map((fault, i) => {
    const note = (): void => {
      order.push(i);
    };
    const request = server.infer('faulty', asking(fault, i));
    request.then(note, note);
    return request;
  });
  return { requests, order };
}

const firstOfMany: readonly FaultName[] = Array.from({ length: 40 }, (_, i) => (i === 0 ? 'held' : 'none'));
const numbers = firstOfMany.map((_, i) => i);

test('answers come in the order of their requests with their own values, however long the first one takes', async (t) => {
  const { server, closed } = await two(t, inOrder);
  const { requests, order } = askEach(server, firstOfMany);
  // Wait until all other requests have run.
  await statisticsAfter(server, 'faulty', 39);
  await turn();
  assert.deepEqual(order, []);
  await closed.open();
  const results = await Promise.all(requests);
  assert.deepEqual(order, numbers);
  results.forEach(({ outputs }, i) => {
    assert.deepEqual(outputs['y']?.data, row(i));
  });
});

test('without it they come as they are ready', async (t) => {
  const { server, closed } = await two(t, '');
  const { requests, order } = askEach(server, firstOfMany);
  await Promise.all(requests.slice(1));
  assert.deepEqual(order, numbers.slice(1));
  await closed.open();
  await requests[0];
});

test('one that fails has its turn behind an earlier one that is slow, and later ones have theirs behind it', async (t) => {
  for (const fault of ['unavailable', 'throws'] as const) {
    const { server, closed } = await two(t, inOrder);
    const { requests, order } = askEach(server, ['held', fault, 'none']);
    await statisticsAfter(server, 'faulty', 2);
    await turn();
    assert.deepEqual(order, []);
    await closed.open();
    const outcomes = await Promise.allSettled(requests);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.deepEqual(order, [0, 1, 2]);
  }
});

test('a cancelled request that runs rejects at once and lets the later ones have their turn', async (t) => {
  const { server, closed } = await two(t, inOrder);
  const controller = new AbortController();
  const first = server.infer('faulty', asking('held', 1), { signal: controller.signal });
  const second = server.infer('faulty', asking('none', 2));
  await turn();
  controller.abort();
  assert.equal((await rejection(first)).code, 'CANCELLED');
  await closed.open();
  assert.equal(floats(await second)[0], 2);
});
