import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { InferResult, Model } from '../../src/index.js';
import { rowSumModel } from '../support/models.js';
import { graph } from '../support/onnx/graph.js';
import { asking, faulty, gate, held } from '../faults/harness.js';
import {
  batchCountsAfter,
  floats,
  identity,
  onnx,
  row,
  serve,
  statisticsAfter,
  turn,
} from '../support/harness.js';

/** A dynamic batcher that waits for a full batch for as long as a test may take. */
const patient = 'max_queue_delay_microseconds: 5000000';

test('a hundred requests at once run in batches, and each gets its own answer', async (t) => {
  const server = await serve(t, { add: onnx() });
  const requests = Array.from({ length: 100 }, (_, i) => server.infer('add', { x: row(i) }));
  for (const [i, result] of (await Promise.all(requests)).entries()) {
    assert.deepEqual(floats(result), [...row(i + 1)]);
  }
  assert.deepEqual(await batchCountsAfter(server, 'add', 100), { 36: 1, 64: 1 });
});

test('requests of several rows fill a batch together', async (t) => {
  const server = await serve(t, { add: onnx(undefined, { maxBatchSize: 8 }) });
  const sizes = [3, 3, 1, 8, 2];
  const results = await Promise.all(sizes.map((rows, i) => server.infer('add', { x: row(i, rows * 16) })));
  for (const [i, rows] of sizes.entries()) {
    assert.deepEqual(results[i]?.outputs['y']?.shape, [rows, 16]);
    assert.deepEqual(results[i].outputs['y'].data, row(i + 1, rows * 16));
  }
  // A request is never split, and never overtakes another request that does not fit.
  assert.deepEqual(await batchCountsAfter(server, 'add', 5), { 2: 1, 7: 1, 8: 1 });
});

test('numbers and strings that come out together keep to their requests', async (t) => {
  const bytes = graph('scores_and_labels')
    .input('x', 'INT64', ['N', 1])
    .node('Identity', ['x'], ['score'])
    .node('Cast', ['x'], ['label'], { to: 8 })
    .output('score', 'INT64', ['N', 1])
    .output('label', 'BYTES', ['N', 1])
    .encode();
  const model = onnx(bytes, {
    maxBatchSize: 8,
    inputs: [{ name: 'x', datatype: 'INT64', dims: [1] }],
    outputs: [
      { name: 'score', datatype: 'INT64', dims: [1] },
      { name: 'label', datatype: 'BYTES', dims: [1] },
    ],
  });
  const server = await serve(t, { m: model });
  for (const count of [1, 3, 20]) {
    const numbers = Array.from({ length: count }, (_, i) => BigInt(i + 10));
    const results = await Promise.all(
      numbers.map((number) => server.infer('m', { x: BigInt64Array.of(number) })),
    );
    for (const [i, { outputs }] of results.entries()) {
      assert.deepEqual(outputs['score']?.toArray(), [[numbers[i]]]);
      assert.deepEqual(outputs['label']?.strings(), [String(numbers[i])]);
    }
  }
});

test('results of one batch share their timings and tell its size', async (t) => {
  const server = await serve(t, { add: onnx() });
  const results = await Promise.all([1, 2, 3].map((first) => server.infer('add', { x: row(first) })));
  const [first, ...others] = results.map(({ timings }) => timings);
  assert.equal(first?.batchSize, 3);
  for (const timings of others) assert.equal(timings, first);
  assert.ok(Object.isFrozen(first));
});

test('a model without dynamic_batching runs each request alone', async (t) => {
  const server = await serve(t, { add: onnx(undefined, { batching: false }) });
  const requests = Array.from({ length: 10 }, (_, i) =>
    server.infer('add', { x: row(i, i % 2 === 0 ? 16 : 48) }),
  );
  await Promise.all(requests);
  assert.deepEqual(await batchCountsAfter(server, 'add', 10), { 1: 5, 3: 5 });
});

test('requests of different shapes run in different batches', async (t) => {
  const model = onnx(rowSumModel(), {
    inputs: [{ name: 'ids', datatype: 'INT64', dims: [-1] }],
    outputs: [{ name: 'total', dims: [1] }],
  });
  const server = await serve(t, { total: model });
  const lengths = [2, 2, 2, 3, 3, 2];
  const results = await Promise.all(
    lengths.map((length) => server.infer('total', { ids: new BigInt64Array(length).fill(5n) })),
  );
  assert.deepEqual(
    results.map((result) => floats(result, 'total')[0]),
    lengths.map((length) => 5 * length),
  );
  assert.deepEqual(await batchCountsAfter(server, 'total', 6), { 2: 1, 4: 1 });
});

test('two models run at the same time', async (t) => {
  const closed = await gate(t);
  const server = await serve(t, { a: held(closed), b: identity() });
  const first = server.infer('a', { x: row() });
  await turn();
  // This request runs while the run of the other model goes on.
  await server.infer('b', { x: row() });
  await closed.open();
  await first;
});

test('the instances of a model run at the same time', async (t) => {
  const closed = await gate(t);
  const { parameters } = closed;
  const server = await serve(t, { a: faulty({ parameters, instances: 2, batching: false }) });
  const first = server.infer('a', asking('held'));
  await turn();
  await server.infer('a', asking('none'));
  await closed.open();
  await first;
});

void suite('64 callers that each await their answer fill batches of 64 behind', () => {
  const ask = (model: Model): Promise<InferResult> => model.infer({ x: row() });
  const once = async (model: Model): Promise<InferResult> => ask(model);
  const twice = async (model: Model): Promise<InferResult> => await once(model);
  const thrice = async (model: Model): Promise<InferResult> => {
    const result = await twice(model);
    return result;
  };
  const rounds = 12;
  for (const inline of ['auto', 'off'] as const) {
    test(`some of each, inline: '${inline}'`, async (t) => {
      const server = await serve(t, { echo: identity() }, { inline });
      const model = server.model('echo');
      const calls = [ask, once, twice, thrice];
      const caller = async (_: unknown, i: number): Promise<void> => {
        for (let round = 0; round < rounds; round++) await calls[i % calls.length]?.(model);
      };
      await Promise.all(Array.from({ length: 64 }, caller));
      assert.deepEqual(await batchCountsAfter(server, 'echo', 64 * rounds), { 64: rounds });
    });
  }
  for (const [layers, call] of [ask, once, twice, thrice].entries()) {
    test(`${layers} async layers`, async (t) => {
      const server = await serve(t, { echo: identity() });
      const model = server.model('echo');
      const caller = async (): Promise<void> => {
        for (let i = 0; i < rounds; i++) await call(model);
      };
      await Promise.all(Array.from({ length: 64 }, caller));
      assert.deepEqual(await batchCountsAfter(server, 'echo', 64 * rounds), { 64: rounds });
    });
  }

  test('a promise that was settled already, called from synchronous code', async (t) => {
    const server = await serve(t, { echo: identity() });
    const model = server.model('echo');
    const later = async (): Promise<InferResult> => {
      await Promise.resolve();
      return ask(model);
    };
    await new Promise((resolve, reject) => {
      setImmediate(() => {
        const all = Array.from({ length: 64 }, (_, i) => (i % 2 === 0 ? ask(model) : later()));
        Promise.all(all).then(resolve, reject);
      });
    });
    assert.deepEqual(await batchCountsAfter(server, 'echo', 64), { 64: 1 });
  });

  test('and a timer between', async (t) => {
    const server = await serve(t, { echo: identity({ batching: patient }) });
    const model = server.model('echo');
    const caller = async (): Promise<void> => {
      for (let i = 0; i < 3; i++) {
        await thrice(model);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    };
    await Promise.all(Array.from({ length: 64 }, caller));
    assert.deepEqual(await batchCountsAfter(server, 'echo', 64 * 3), { 64: 3 });
  });
});

test('more requests in one tick than fit one submission are all answered', async (t) => {
  const server = await serve(t, {
    echo: identity({ inputs: [{ name: 'x', dims: [1] }], outputs: [{ name: 'y', dims: [1] }] }),
  });
  const model = server.model('echo');
  const count = 12_000;
  const results = await Promise.all(
    Array.from({ length: count }, (_, i) => model.infer({ x: Float32Array.of(i) })),
  );
  assert.ok(results.every((result, i) => floats(result)[0] === i));
  const { execution_count: batches } = await statisticsAfter(server, 'echo', count);
  assert.ok(batches < count / 32, `${batches} batches`);
});
