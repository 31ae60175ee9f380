/** Tests of maxInFlightBytes. A row of 16 floats and its answer take 128 bytes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TritonError, type InferenceServer } from '../../src/index.js';
import { gate, held } from '../faults/harness.js';
import {
  anyLength,
  floats,
  identity,
  rejection,
  row,
  serve,
  turn,
  until,
  type Context,
} from '../support/harness.js';

const bytesOfOne = 128;

/** A server that accepts this many requests of one row at a time. */
function limited(t: Context, requests: number, delayMs = 5): Promise<InferenceServer> {
  const models = { slow: identity({ batching: false, delayMs }) };
  return serve(t, models, { maxInFlightBytes: requests * bytesOfOne });
}

test('as many requests as fit are taken, the next is UNAVAILABLE and names the limit', async (t) => {
  const server = await limited(t, 3);
  const requests = [1, 2, 3, 4].map((first) => server.infer('slow', { x: row(first) }));
  const last = requests.pop();
  assert.ok(last);
  const error = await rejection(last);
  assert.equal(error.code, 'UNAVAILABLE');
  assert.equal(error.model, 'slow');
  assert.match(error.message, /128 bytes of inputs, outputs and parameters; maxInFlightBytes is 384/);
  assert.deepEqual(
    (await Promise.all(requests)).map((result) => floats(result)[0]),
    [1, 2, 3],
  );
});

test('when requests have ended there is room again', async (t) => {
  const server = await limited(t, 2);
  for (let i = 0; i < 5; i++) {
    await Promise.all([1, 2].map((first) => server.infer('slow', { x: row(first) })));
  }
});

test('failed and cancelled requests give their room back', async (t) => {
  const closed = await gate(t);
  const slow = held(closed, { batching: false });
  const server = await serve(t, { slow }, { maxInFlightBytes: 2 * bytesOfOne });
  const controller = new AbortController();
  const requests = [1, 2].map((first) =>
    rejection(server.infer('slow', { x: row(first) }, { signal: controller.signal })),
  );
  await turn();
  controller.abort();
  await Promise.all(requests);
  const ask = async (count: number): Promise<number> => {
    const results = Promise.allSettled(
      Array.from({ length: count }, (_, i) => server.infer('slow', { x: row(i) })),
    );
    await turn();
    await closed.open();
    return (await results).filter(({ status }) => status === 'fulfilled').length;
  };
  // One cancelled request still runs, and its bytes are in use until it ends.
  assert.ok((await ask(2)) < 2);
  await until(async () => (await ask(2)) === 2);
});

test('a request that could never fit is INVALID_ARG', async (t) => {
  const server = await limited(t, 3);
  const error = await rejection(server.infer('slow', { x: row(0, 4 * 16) }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(
    error.message,
    /one request needs 512 bytes of inputs, outputs and parameters; maxInFlightBytes is 384/,
  );
});

test('parameters of a request count until it has ended', async (t) => {
  const server = await serve(
    t,
    { slow: identity({ batching: false, delayMs: 5 }) },
    { maxInFlightBytes: 2 * bytesOfOne + 1500 },
  );
  const large = { parameters: { text: 'x'.repeat(1000) } };
  const first = server.infer('slow', { x: row(1) }, large);
  const second = rejection(server.infer('slow', { x: row(2) }, large));
  const third = server.infer('slow', { x: row(3) });
  const error = await second;
  assert.equal(error.code, 'UNAVAILABLE');
  assert.equal(error.reason, 'TOO_MUCH_IN_FLIGHT');
  await Promise.all([first, third]);
  await server.infer('slow', { x: row(2) }, large);
});

test('requests of several rows count all of them', async (t) => {
  // Three rows take 256 bytes of a slab and 192 of output; two rows take 128 of each.
  const server = await limited(t, 6);
  const first = server.infer('slow', { x: row(0, 3 * 16) });
  const second = rejection(server.infer('slow', { x: row(0, 3 * 16) }));
  const third = server.infer('slow', { x: row(0, 2 * 16) });
  assert.equal((await second).code, 'UNAVAILABLE');
  await Promise.all([first, third]);
});

test('large inputs count like small ones', async (t) => {
  const dims = [100_000];
  const model = identity({
    inputs: [{ name: 'x', dims }],
    outputs: [{ name: 'y', dims }],
    batching: false,
    delayMs: 5,
  });
  const server = await serve(t, { big: model }, { maxInFlightBytes: 2_000_000 });
  const requests = [1, 2, 3].map((first) => server.infer('big', { x: row(first, 100_000) }));
  const outcomes = await Promise.allSettled(requests);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  );
  assert.equal(floats(await server.infer('big', { x: row(7, 100_000) }))[0], 7);
});

test('a burst of small requests beyond the limit keeps no later one out', async (t) => {
  const server = await serve(t, { echo: identity(anyLength) }, { maxInFlightBytes: 2 ** 20 });
  const small = Float32Array.of(1);
  const burst = await Promise.allSettled(
    Array.from({ length: 20_000 }, () => server.infer('echo', { x: small })),
  );
  for (const outcome of burst) {
    if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof TritonError);
  }
  // Now all memory for small inputs is cut into pieces of the smallest size.
  for (const length of [100, 500, 1000]) {
    assert.equal(floats(await server.infer('echo', { x: row(0, length) })).length, length);
  }
});

test('map waits where infer is refused, and all items are answered in order', async (t) => {
  const server = await limited(t, 2, 1);
  const items = Array.from({ length: 30 }, (_, i) => ({ x: row(i) }));
  const answers: number[] = [];
  for await (const result of server.model('slow').map(items, { concurrency: 16 })) {
    answers.push(floats(result)[0] ?? NaN);
  }
  assert.deepEqual(
    answers,
    items.map((_, i) => i),
  );
});

test('map waits for the requests of others, too', async (t) => {
  const server = await limited(t, 2, 10);
  const others = [1, 2].map((first) => server.infer('slow', { x: row(first) }));
  const answers: number[] = [];
  for await (const result of server.model('slow').map([{ x: row(5) }, { x: row(6) }])) {
    answers.push(floats(result)[0] ?? NaN);
  }
  assert.deepEqual(answers, [5, 6]);
  await Promise.all(others);
});

test('map ends with INVALID_ARG at an item that could never fit', async (t) => {
  const server = await limited(t, 2, 1);
  const items = [{ x: row(0) }, { x: row(0, 3 * 16) }, { x: row(2) }];
  const iterator = server.model('slow').map(items);
  assert.equal((await iterator.next()).done, false);
  assert.equal((await rejection(iterator.next())).code, 'INVALID_ARG');
});
