/** Priority levels and queue policies as callers see them. native/test tests the single decisions. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusNumber } from '../../src/addon/status.js';
import { limitError } from '../../src/dispatch/errors/request-errors.js';
import type { Waiter } from '../../src/dispatch/types.js';
import { TritonError, type InferenceServer, type InferOptions, type InferResult } from '../../src/index.js';
import type { CheckedOptions } from '../../src/server/requests/infer-options.js';
import type { Mappable } from '../../src/server/map/map-entry.js';
import { mapModel } from '../../src/server/map/map.js';
import { asking, faulty, gate, held } from '../faults/harness.js';
import {
  batchCountsAfter,
  floats,
  rejection,
  row,
  serve,
  statisticsAfter,
  turn,
  until,
  type ConfigOptions,
  type Context,
} from '../support/harness.js';

/** A model whose runs do not end before `open` is called, so that requests after the first one wait. */
interface Slow {
  readonly server: InferenceServer;
  /** Lets the runs end, once the previous requests have reached the engine. */
  readonly open: () => Promise<void>;
}

async function slow(t: Context, batching: string, options: ConfigOptions = {}): Promise<Slow> {
  const closed = await gate(t);
  const server = await serve(t, { slow: held(closed, { maxBatchSize: 1, batching, ...options }) });
  return {
    server,
    open: async () => {
      await turn();
      await closed.open();
    },
  };
}

function ask(server: InferenceServer, value: number, options?: InferOptions): Promise<InferResult> {
  return server.infer('slow', { x: row(value) }, options);
}

/** Occupies the instance, so that the next requests wait. */
async function occupy(server: InferenceServer): Promise<Promise<InferResult>[]> {
  const first = ask(server, 0);
  await turn();
  return [first];
}

/** Resolves with the requests' numbers in the order of their answers. Must be called before the first answer. */
async function orderOf(requests: readonly (readonly [number, Promise<InferResult>])[]): Promise<number[]> {
  const order: number[] = [];
  await Promise.all(
    requests.map(async ([number, request]) => {
      await request;
      order.push(number);
    }),
  );
  return order;
}

const levels = 'priority_levels: 3 default_priority_level: 2';

test('requests of a higher level are served first, those without one at the default level', async (t) => {
  const { server, open } = await slow(t, levels);
  const first = await occupy(server);
  const priorities = [3, 0, 1, undefined, 7, 1, 2];
  const waiting = priorities.map((priority, i): [number, Promise<InferResult>] => [
    i,
    ask(server, i, { priority }),
  ]);
  const order = orderOf(waiting);
  await open();
  assert.deepEqual(await order, [2, 5, 1, 3, 4, 6, 0]);
  await Promise.all(first);
});

test('a batch takes requests of several levels', async (t) => {
  const { server, open } = await slow(t, levels, { maxBatchSize: 4 });
  const first = await occupy(server);
  const waiting = [3, 1, 2, 1].map((priority, i) => ask(server, i, { priority }));
  await open();
  await Promise.all([...first, ...waiting]);
  assert.deepEqual(await batchCountsAfter(server, 'slow', 5), { 1: 1, 4: 1 });
});

test('a full queue refuses with the model, the limit and how many wait, and takes more when there is room', async (t) => {
  const { server, open } = await slow(t, 'default_queue_policy { max_queue_size: 2 }');
  const first = await occupy(server);
  const waiting = [1, 2].map((value) => ask(server, value));
  const error = await rejection(ask(server, 3));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.equal(error.model, 'slow');
  assert.match(error.message, /model 'slow': its queue is full: max_queue_size is 2, and 2 requests wait/);
  await open();
  assert.deepEqual(
    (await Promise.all(waiting)).map((result) => floats(result)[0]),
    [1, 2],
  );
  await Promise.all(first);
  assert.equal(floats(await ask(server, 4))[0], 4);
  // A refused request does not count as a failure of the model.
  const { inference_stats: stats } = await statisticsAfter(server, 'slow', 4);
  assert.equal(stats.fail.count, 0);
});

test('each level has its own limit', async (t) => {
  const own = 'priority_queue_policy { key: 1 value { max_queue_size: 1 } }';
  const { server, open } = await slow(t, `${levels} ${own} default_queue_policy { max_queue_size: 2 }`);
  const first = await occupy(server);
  const requests = [1, 1, 2, 2, 2, 3].map((priority, i) => ask(server, i, { priority }));
  const settled = Promise.allSettled([...requests, ...first]);
  await open();
  assert.deepEqual(
    (await settled).map(({ status }) => (status === 'fulfilled' ? 1 : 0)),
    [1, 0, 1, 1, 0, 1, 1],
  );
  assert.match(
    (await rejection(requests[1] ?? assert.fail())).message,
    /the queue of priority level 1 is full: max_queue_size is 1, and 1 request waits/,
  );
});

test('nothing is refused while an instance is free', async (t) => {
  const { server, open } = await slow(t, 'default_queue_policy { max_queue_size: 1 }', { instances: 3 });
  const requests = [1, 2, 3, 4].map((value) => ask(server, value));
  await open();
  await Promise.all(requests);
});

test('what waits too long rejects while the instance is busy', async (t) => {
  const policy = 'default_queue_policy { default_timeout_microseconds: 2000 }';
  const { server, open } = await slow(t, policy);
  const first = await occupy(server);
  const error = await rejection(ask(server, 1));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.match(error.message, /model 'slow': request timeout expired/);
  await open();
  await Promise.all(first);
  const { inference_stats: stats } = await statisticsAfter(server, 'slow', 2);
  assert.equal(stats.fail.count, 1);
});

test('a request may bring a shorter time where the policy allows it, also where there is no other', async (t) => {
  const { server, open } = await slow(t, 'default_queue_policy { allow_timeout_override: true }');
  const first = await occupy(server);
  const [short, none] = [ask(server, 1, { timeoutUs: 1000 }), ask(server, 2)];
  assert.equal((await rejection(short)).code, 'UNAVAILABLE');
  await open();
  assert.equal(floats(await none)[0], 2);
  await Promise.all(first);
});

test('a longer time, and one that the policy does not allow, are ignored', async (t) => {
  const short = 'allow_timeout_override: true default_timeout_microseconds: 1000';
  const lenient = await slow(t, `default_queue_policy { ${short} }`);
  const [running] = await occupy(lenient.server);
  assert.match(
    (await rejection(ask(lenient.server, 1, { timeoutUs: 60_000_000 }))).message,
    /request timeout expired/,
  );
  await lenient.open();
  await running;

  const strict = await slow(t, 'default_queue_policy { default_timeout_microseconds: 60000000 }');
  const first = await occupy(strict.server);
  const waiting = ask(strict.server, 1, { timeoutUs: 1 });
  await strict.open();
  assert.equal(floats(await waiting)[0], 1);
  await Promise.all(first);
});

test('with DELAY what waited too long is served behind the others', async (t) => {
  const policy = 'default_queue_policy { timeout_action: DELAY allow_timeout_override: true }';
  const { server, open } = await slow(t, policy);
  const first = await occupy(server);
  const requests: (readonly [number, Promise<InferResult>])[] = [
    // This request expires before the gate can open.
    [1, ask(server, 1, { timeoutUs: 1 })],
    [2, ask(server, 2)],
    [3, ask(server, 3)],
  ];
  const order = orderOf(requests);
  await open();
  assert.deepEqual(await order, [2, 3, 1]);
  await Promise.all(first);
});

test('a model without a policy ignores priority and time-out', async (t) => {
  const { server, open } = await slow(t, '');
  const first = await occupy(server);
  const waiting = [3, 1, 2].map((priority, i): [number, Promise<InferResult>] => [
    i,
    ask(server, i, { priority, timeoutUs: 1 }),
  ]);
  const order = orderOf(waiting);
  await open();
  assert.deepEqual(await order, [0, 1, 2]);
  await Promise.all(first);
});

test('policies apply to a model without a batch dimension', async (t) => {
  const policy = 'default_queue_policy { max_queue_size: 1 }';
  const { server, open } = await slow(t, policy, { maxBatchSize: 0 });
  const first = await occupy(server);
  const settled = Promise.allSettled([...first, ask(server, 1), ask(server, 2)]);
  await open();
  assert.deepEqual(
    (await settled).map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  );
});

/** Items for `map`, with the number of items that were pulled. */
class Items {
  pulled = 0;
  readonly count: number;

  constructor(count: number) {
    this.count = count;
  }

  *[Symbol.iterator](): Generator<{ x: Float32Array<ArrayBuffer> }> {
    while (this.pulled < this.count) yield { x: row(this.pulled++) };
  }
}

test('map waits where a bounded queue refuses', async (t) => {
  const { server, open } = await slow(t, 'default_queue_policy { max_queue_size: 2 }');
  const items = new Items(60);
  const results = server.model('slow').map(items, { concurrency: 16 });
  const next = results.next();
  await until(() => items.pulled >= 16);
  await open();
  const first = await next;
  const got = [first.done === true ? undefined : floats(first.value)[0]];
  for await (const result of results) got.push(floats(result)[0]);
  assert.deepEqual(
    got,
    Array.from({ length: 60 }, (_, i) => i),
  );
});

test('map waits where others have the queue, too', async (t) => {
  const { server, open } = await slow(t, 'default_queue_policy { max_queue_size: 1 }');
  const others = [...(await occupy(server)), ask(server, 1)];
  const results = server.model('slow').map([{ x: row(7) }, { x: row(8) }]);
  const next = results.next();
  await open();
  const first = await next;
  const got = [first.done === true ? undefined : floats(first.value)[0]];
  for await (const result of results) got.push(floats(result)[0]);
  assert.deepEqual(got, [7, 8]);
  await Promise.all(others);
});

test('map goes on where items fail in a bounded queue', async (t) => {
  const policy = 'default_queue_policy { max_queue_size: 2 default_timeout_microseconds: 3000 }';
  const { server, open } = await slow(t, policy);
  const items = new Items(12);
  const outcomes = server.model('slow').map(items, { onError: 'yield', concurrency: 8 });
  const next = outcomes.next();
  // The first request runs. Others get room in the queue only because some expire.
  await until(() => server.model('slow').statistics().inference_stats.fail.count > 2);
  await open();
  const first = await next;
  const indices = [first.done === true ? undefined : first.value.index];
  for await (const { index } of outcomes) indices.push(index);
  assert.deepEqual(
    indices,
    Array.from({ length: 12 }, (_, i) => i),
  );
});

/** A model whose requests the test answers. */
function recording(): { readonly model: Mappable; readonly sent: readonly Waiter<InferResult>[] } {
  const sent: Waiter<InferResult>[] = [];
  const model: Mappable = {
    name: 'm',
    defaultConcurrency: 3,
    // The options are not read here.
    check: () => ({}) as CheckedOptions,
    cancelAll: () => undefined,
    sendChecked: (_inputs, _options, waiter) => void sent.push(waiter),
  };
  return { model, sent };
}

test('map goes on where room is made before it knows that it has been refused', async () => {
  const { model, sent } = recording();
  const items = new Items(3);
  const outcomes = mapModel(model, items, { onError: 'yield', concurrency: 3 });
  const next = outcomes.next();
  assert.equal(sent.length, 3);
  // The first request runs, the second one expires, and the third one was refused before that.
  sent[1]?.reject(new TritonError('UNAVAILABLE', 'expired'));
  sent[2]?.reject(limitError(statusNumber('UNAVAILABLE', 'QUEUE_FULL'), 'the queue is full', 'm'));
  assert.equal(sent.length, 4);
  // Now the queue is full without an expiry, so no request is sent again.
  sent[3]?.reject(limitError(statusNumber('UNAVAILABLE', 'QUEUE_FULL'), 'the queue is full', 'm'));
  assert.equal(sent.length, 4);
  sent[0]?.reject(new TritonError('INTERNAL', 'failed'));
  assert.equal(sent.length, 5);
  sent[4]?.reject(new TritonError('INTERNAL', 'failed, too'));
  const first = await next;
  assert.ok(first.done !== true);
  const all = [first.value];
  for await (const outcome of outcomes) all.push(outcome);
  assert.deepEqual(
    all.map((outcome) => ('error' in outcome ? outcome.error?.message : undefined)),
    ['failed', 'expired', 'failed, too'],
  );
});

test('map sends no more of what was refused again than has ended meanwhile', () => {
  const { model, sent } = recording();
  const outcomes = mapModel(model, new Items(100), { onError: 'yield', concurrency: 100 });
  void outcomes.next();
  const first = [...sent];
  assert.equal(first.length, 100);
  for (const waiter of first.slice(1, 3)) waiter.reject(new TritonError('UNAVAILABLE', 'expired'));
  for (const waiter of first.slice(3))
    waiter.reject(limitError(statusNumber('UNAVAILABLE', 'QUEUE_FULL'), 'the queue is full', 'm'));
  assert.equal(sent.length, 102);
});

test('map goes on where its items cannot be sent any more', async (t) => {
  const closed = await gate(t);
  const batching = 'default_queue_policy { max_queue_size: 1 }';
  const server = await serve(
    t,
    { slow: faulty({ maxBatchSize: 1, batching, parameters: closed.parameters }) },
    { modelControlMode: 'explicit', loadModels: ['slow'] },
  );
  const items = Array.from({ length: 40 }, (_, i) => asking(i === 0 ? 'none' : 'held', i));
  const model = server.model('slow');
  const seen: (string | undefined)[] = [];
  let unloading: Promise<void> | undefined;
  for await (const { error } of model.map(items, { onError: 'yield', concurrency: 40 })) {
    seen.push(error?.code);
    if (unloading !== undefined) continue;
    // The running request lasts until the gate opens, so most items wait for room in the queue.
    unloading = server.unloadModel('slow');
    await until(() => !model.ready);
    await closed.open();
  }
  await unloading;
  assert.equal(seen.length, items.length);
  assert.equal(seen.at(0), undefined);
  assert.equal(seen.at(-1), 'UNAVAILABLE');
});

test('map takes priority and time-out for every item', async (t) => {
  const { server, open } = await slow(t, 'default_queue_policy { allow_timeout_override: true }');
  const first = await occupy(server);
  const outcomes = server.model('slow').map([{ x: row(1) }], { timeoutUs: 1000, onError: 'yield' });
  for await (const { error } of outcomes) assert.match(String(error?.message), /request timeout expired/);
  await open();
  await Promise.all(first);
});
