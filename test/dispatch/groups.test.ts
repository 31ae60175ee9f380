/**
 * Requests of a tick that differ only in their bytes go to the engine as one group, and their callers notice
 * nothing.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferResult, TritonError } from '../../src/index.js';
import { failingModel } from '../support/models.js';
import {
  batchCountsAfter,
  floats,
  identity,
  onnx,
  rejection,
  row,
  serve,
  statisticsAfter,
} from '../support/harness.js';

/** A dynamic batcher that waits for a full batch for as long as a test may take. */
const patient = 'max_queue_delay_microseconds: 5000000';

/** Random numbers below `most`, the same in each run. */
function dice(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

for (const inline of ['auto', 'off'] as const) {
  test(`every request of a mixed tick gets its own answer, with inline ${inline}`, async (t) => {
    const server = await serve(
      t,
      { one: identity({ maxBatchSize: 8, instances: 3 }), two: onnx(undefined, { maxBatchSize: 64 }) },
      { inline },
    );
    const roll = dice(5);
    let sent = 0;
    const sentTo = { one: 0, two: 0 };
    const send = async (model: 'one' | 'two', rows: number, named: boolean): Promise<void> => {
      const first = sent++;
      sentTo[model]++;
      const options = named ? { id: `request ${first}`, outputs: ['y'] } : undefined;
      const result = await server.infer(model, { x: row(first, rows * 16) }, options);
      assert.equal(result.id, named ? `request ${first}` : '');
      assert.equal(result.model.name, model);
      assert.deepEqual(result.outputs['y']?.shape, [rows, 16]);
      assert.deepEqual(result.outputs['y'].data, row(first + (model === 'two' ? 1 : 0), rows * 16));
    };
    for (let tick = 0; tick < 60; tick++) {
      const requests: Promise<void>[] = [];
      for (let burst = roll(12); burst >= 0; burst--) {
        const model = roll(2) === 0 ? 'one' : 'two';
        const rows = 1 + roll(3);
        const named = roll(4) === 0;
        for (let alike = roll(40); alike >= 0; alike--) requests.push(send(model, rows, named));
      }
      await Promise.all(requests);
    }
    for (const model of ['one', 'two'] as const) {
      const { inference_stats } = await statisticsAfter(server, model, sentTo[model]);
      assert.equal(inference_stats.success.count, sentTo[model]);
    }
  });
}

test('they fill batches as they would one by one', async (t) => {
  const server = await serve(t, { add: onnx(undefined, { maxBatchSize: 6, batching: patient }) });
  // The first two rows of the second request would fill the first batch, if rows of a request could be
  // separated.
  const sizes = [1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 1, 1, 2, 2, 1, 1];
  const results = await Promise.all(sizes.map((rows, i) => server.infer('add', { x: row(i, rows * 16) })));
  for (const [i, rows] of sizes.entries()) {
    assert.deepEqual(results[i]?.outputs['y']?.data, row(i + 1, rows * 16));
  }
  assert.deepEqual(await batchCountsAfter(server, 'add', sizes.length), { 4: 1, 6: 3 });
});

test('thousands of them at once are cut into what a batch takes', async (t) => {
  const server = await serve(t, { add: onnx(undefined, { maxBatchSize: 100 }) });
  for (let round = 0; round < 3; round++) {
    const requests = Array.from({ length: 5000 }, (_, i) => server.infer('add', { x: row(i) }));
    for (const [i, result] of (await Promise.all(requests)).entries()) {
      assert.equal(floats(result)[0], i + 1);
    }
  }
  const counts = await batchCountsAfter(server, 'add', 15_000);
  assert.deepEqual(counts, { 100: 150 });
});

test('answers that fill several pages come in order', async (t) => {
  const tensors = { inputs: [{ name: 'x', dims: [1000] }], outputs: [{ name: 'y', dims: [1000] }] };
  const server = await serve(t, { echo: identity({ ...tensors, maxBatchSize: 1024 }) });
  for (let round = 0; round < 3; round++) {
    const requests = Array.from({ length: 1024 }, (_, i) => server.infer('echo', { x: row(i, 1000) }));
    for (const [i, { outputs }] of (await Promise.all(requests)).entries()) {
      assert.deepEqual(outputs['y']?.data, row(i, 1000));
    }
  }
});

test('the array may be changed or transferred as soon as infer() has returned', async (t) => {
  const server = await serve(t, { add: onnx() });
  const x = row(0, 16 * 8);
  const requests = Array.from({ length: 10 }, (_, i) => {
    x.fill(i);
    return server.infer('add', { x });
  });
  structuredClone(x, { transfer: [x.buffer] });
  for (const [i, result] of (await Promise.all(requests)).entries()) {
    assert.deepEqual(result.outputs['y']?.data, new Float32Array(128).fill(i + 1));
  }
});

test('outputs are arrays of their own', async (t) => {
  const server = await serve(t, { add: onnx() });
  const results = await Promise.all([1, 2, 3].map((first) => server.infer('add', { x: row(first) })));
  const [one, two, three] = results.map(({ outputs }) => outputs['y']?.as('FP32').data);
  one?.fill(99);
  assert.deepEqual([two, three], [row(3), row(4)]);
  assert.equal(two?.byteOffset, 0);
  assert.equal(two.buffer.byteLength, 64);
});

test('of a run that fails each gets an error of its own', async (t) => {
  const model = onnx(failingModel(), {
    maxBatchSize: 8,
    inputs: [{ name: 'index', datatype: 'INT64', dims: [1] }],
    outputs: [{ name: 'value', dims: [1] }],
  });
  const server = await serve(t, { m: model });
  const errors = await Promise.all(
    [96, 97, 98, 99].map((index) => rejection(server.infer('m', { index: BigInt64Array.of(BigInt(index)) }))),
  );
  assert.equal(new Set(errors).size, 4);
  for (const { code, model: named } of errors) assert.deepEqual([code, named], ['INTERNAL', 'm']);
  const { inference_stats } = await statisticsAfter(server, 'm', 4);
  assert.equal(inference_stats.fail.count, 4);
});

test('each has its own id, in its answer and in its error', async (t) => {
  const model = onnx(failingModel(), {
    maxBatchSize: 8,
    inputs: [{ name: 'index', datatype: 'INT64', dims: [1] }],
    outputs: [{ name: 'value', dims: [1] }],
  });
  const server = await serve(t, { m: model });
  const ids = ['', 'a', 'b', '', 'c', 'c'];
  const ask = (index: number): Promise<InferResult>[] =>
    ids.map((id) => server.infer('m', { index: BigInt64Array.of(BigInt(index)) }, id === '' ? {} : { id }));
  const results = await Promise.all(ask(1));
  assert.deepEqual(
    results.map(({ id }) => id),
    ids,
  );
  // All of them ran in one batch.
  for (const { timings } of results) assert.equal(timings.batchSize, ids.length);
  const errors = await Promise.all(ask(99).map(rejection));
  assert.deepEqual(
    errors.map(({ message }) => /^\[request id: (\w+)\]/.exec(message)?.[1] ?? ''),
    ids,
  );
});

test('only those beyond the limit of bytes in flight are refused', async (t) => {
  // A row of 16 floats and its answer take 128 bytes.
  const server = await serve(t, { slow: identity({ delayMs: 5 }) }, { maxInFlightBytes: 1000 });
  for (let round = 0; round < 3; round++) {
    const requests = Array.from({ length: 12 }, (_, i) => server.infer('slow', { x: row(i) }));
    const outcomes = await Promise.allSettled(requests);
    const values = outcomes.map((outcome) =>
      outcome.status === 'fulfilled' ? floats(outcome.value)[0] : (outcome.reason as TritonError).code,
    );
    const refused = Array.from({ length: 5 }, () => 'UNAVAILABLE');
    assert.deepEqual(values, [0, 1, 2, 3, 4, 5, 6, ...refused]);
  }
});

test('a server that closes answers all of them', async (t) => {
  const server = await serve(t, { slow: identity({ delayMs: 5, maxBatchSize: 4 }) });
  const requests = Array.from({ length: 10 }, (_, i) => server.infer('slow', { x: row(i) }));
  await server.close();
  for (const [i, result] of (await Promise.all(requests)).entries()) assert.equal(floats(result)[0], i);
});

test('those that belong to a map are cancelled with it, and others are not', async (t) => {
  const server = await serve(t, { slow: identity({ delayMs: 5, maxBatchSize: 4 }) });
  const model = server.model('slow');
  const items = Array.from({ length: 100 }, (_, i) => ({ x: row(i) }));
  const own: Promise<InferResult>[] = [];
  for await (const result of model.map(items, { concurrency: 40 })) {
    own.push(model.infer({ x: row(1000) }), model.infer({ x: row(1001) }));
    if (floats(result)[0] === 2) break;
  }
  const results = await Promise.all(own);
  assert.deepEqual(
    results.map((result) => floats(result)[0]),
    [1000, 1001, 1000, 1001, 1000, 1001],
  );
});

test('the event loop has its turns while thousands of them are refused', async (t) => {
  const server = await serve(t, { echo: identity({ delayMs: 1 }) }, { maxInFlightBytes: 128 });
  let turns = 0;
  let counting = true;
  const count = (): void => {
    turns++;
    if (counting) setImmediate(count);
  };
  const x = row();
  const requests = Array.from({ length: 20_000 }, () => server.infer('echo', { x }).catch(() => undefined));
  setImmediate(count);
  await Promise.all(requests);
  counting = false;
  // A turn delivers at most 1,024 responses.
  assert.ok(turns >= 19, `${turns} turns`);
});
