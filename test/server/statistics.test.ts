import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferResult, ModelStatistics, Timings } from '../../src/index.js';
import { addModel } from '../support/models.js';
import { mlpModel, mlpWidths } from '../support/models/mlp.js';
import {
  configText,
  identity,
  onnx,
  rejection,
  row,
  serve,
  statisticsAfter,
  thrown,
} from '../support/harness.js';

function sum(results: readonly InferResult[], key: keyof Omit<Timings, 'cacheHit'>): number {
  return results.reduce((total, { timings }) => total + timings[key], 0);
}

test('a model that has done nothing has statistics of zero, in the shape of Triton', async (t) => {
  const server = await serve(t, { echo: identity() });
  const zero = { count: 0, ns: 0 };
  assert.deepEqual(server.statistics(), [
    {
      name: 'echo',
      version: '1',
      last_inference: 0,
      inference_count: 0,
      execution_count: 0,
      inference_stats: {
        success: zero,
        fail: zero,
        queue: zero,
        compute_input: zero,
        compute_infer: zero,
        compute_output: zero,
        cache_hit: zero,
        cache_miss: zero,
      },
      fail_reasons: { REJECTED: 0, CANCELED: 0, BACKEND: 0, OTHER: 0 },
      refused: 0,
      reruns: 0,
      response_stats: {},
      batch_stats: [],
      memory_usage: [],
    } satisfies ModelStatistics,
  ]);
});

test('they count rows, batches and requests', async (t) => {
  const server = await serve(t, { add: onnx() });
  await Promise.all([1, 2, 3].map((rows) => server.infer('add', { x: row(0, rows * 16) })));
  const statistics = await statisticsAfter(server, 'add', 3);
  assert.equal(statistics.inference_count, 6);
  assert.equal(statistics.execution_count, 1);
  const { success, queue, compute_input, compute_infer, compute_output } = statistics.inference_stats;
  for (const duration of [success, queue, compute_input, compute_infer, compute_output]) {
    assert.equal(duration.count, 3);
  }
  assert.deepEqual(
    statistics.batch_stats.map(({ batch_size, compute_infer: { count } }) => [batch_size, count]),
    [[6, 1]],
  );
});

test('a request that was answered is counted', async (t) => {
  const server = await serve(t, { echo: identity() });
  for (let sent = 1; sent <= 1000; sent++) {
    await server.infer('echo', { x: row() });
    const [statistics] = server.statistics('echo');
    assert.equal(statistics?.inference_stats.success.count, sent);
    assert.equal(statistics.execution_count, sent);
  }
});

test('a model that does not batch counts requests', async (t) => {
  const server = await serve(t, { add: onnx(addModel({ batch: false }), { maxBatchSize: 0 }) });
  await Promise.all([1, 2, 3].map(() => server.infer('add', { x: row() })));
  const { inference_count, execution_count } = await statisticsAfter(server, 'add', 3);
  assert.deepEqual([inference_count, execution_count], [3, 3]);
});

test('the timings of the results add up to the statistics', async (t) => {
  const server = await serve(t, { add: onnx(undefined, { maxBatchSize: 4 }) });
  const results: InferResult[] = [];
  for (const count of [1, 9, 4]) {
    results.push(
      ...(await Promise.all(Array.from({ length: count }, () => server.infer('add', { x: row() })))),
    );
  }
  const { inference_stats: stats } = await statisticsAfter(server, 'add', results.length);
  assert.equal(stats.queue.ns, sum(results, 'queueNs'));
  assert.equal(stats.compute_input.ns, sum(results, 'computeInputNs'));
  assert.equal(stats.compute_infer.ns, sum(results, 'computeInferNs'));
  assert.equal(stats.compute_output.ns, sum(results, 'computeOutputNs'));
  const parts = stats.queue.ns + stats.compute_input.ns + stats.compute_infer.ns + stats.compute_output.ns;
  assert.equal(stats.success.ns, parts);
});

test('batch_stats have the durations of each batch once', async (t) => {
  const server = await serve(t, { slow: identity({ delayMs: 10 }) });
  await Promise.all([1, 2, 3].map(() => server.infer('slow', { x: row() })));
  const { batch_stats, inference_stats } = await statisticsAfter(server, 'slow', 3);
  const [batch] = batch_stats;
  assert.ok(batch);
  assert.ok(batch.compute_infer.ns >= 10e6);
  assert.equal(inference_stats.compute_infer.ns, 3 * batch.compute_infer.ns);
});

test('last_inference is the time of the last batch', async (t) => {
  const server = await serve(t, { echo: identity() });
  const before = Date.now();
  await server.infer('echo', { x: row() });
  const { last_inference: last } = await statisticsAfter(server, 'echo', 1);
  assert.ok(last >= before - 1 && last <= Date.now() + 1);
});

test('the queue is the time behind a batch that runs', async (t) => {
  const server = await serve(t, { slow: identity({ batching: false, delayMs: 20 }) });
  const [first, second] = await Promise.all([
    server.infer('slow', { x: row() }),
    server.infer('slow', { x: row() }),
  ]);
  assert.ok(first.timings.queueNs < second.timings.queueNs);
  assert.ok(second.timings.queueNs >= 20e6);
});

test('statistics() lists every served version, by model and version', async (t) => {
  const config = configText({ more: 'version_policy { all { } }' });
  const server = await serve(t, {
    b: { config, versions: { '10': addModel(), '9': addModel() } },
    a: identity(),
  });
  const list = (statistics: readonly ModelStatistics[]): string[] =>
    statistics.map(({ name, version }) => `${name}/${version}`);
  assert.deepEqual(list(server.statistics()), ['a/1', 'b/9', 'b/10']);
  assert.deepEqual(list(server.statistics('b')), ['b/9', 'b/10']);
  assert.deepEqual(list(server.statistics('b', 9)), ['b/9']);
});

test('versions count for themselves', async (t) => {
  const config = configText({ more: 'version_policy { all { } }' });
  const server = await serve(t, { add: { config, versions: { '1': addModel(), '2': addModel() } } });
  await server.infer('add', { x: row() }, { version: 1 });
  await server.infer('add', { x: row() });
  await server.infer('add', { x: row() });
  await statisticsAfter(server, 'add', 2);
  assert.deepEqual(
    server.statistics('add').map(({ inference_count }) => inference_count),
    [1, 2],
  );
});

test('statistics of what is not served say why', async (t) => {
  const server = await serve(t, { bad: { config: configText() }, good: identity() }, { exitOnError: false });
  assert.equal(thrown(() => server.statistics('nothing')).code, 'NOT_FOUND');
  assert.equal(thrown(() => server.statistics('bad')).code, 'UNAVAILABLE');
  assert.equal(thrown(() => server.statistics('good', 2)).code, 'NOT_FOUND');
  assert.equal(thrown(() => server.statistics('good', 'latest')).code, 'INVALID_ARG');
});

test('memory_usage has what ONNX Runtime holds for a version', async (t) => {
  const tensors = (width: number): { readonly name: string; readonly dims: number[] }[] => [
    { name: 'x', dims: [width] },
  ];
  const [inputs = 0, outputs = 0] = [mlpWidths[0], mlpWidths.at(-1)];
  const mlp = { inputs: tensors(inputs), outputs: [{ name: 'y', dims: [outputs] }] };
  const server = await serve(t, {
    mlp: onnx(mlpModel(), mlp),
    bare: onnx(mlpModel(), { ...mlp, parameters: { enable_mem_arena: 0 } }),
    two: onnx(mlpModel(), { ...mlp, instances: 2 }),
  });
  let weights = 0;
  for (const [i, width] of mlpWidths.slice(1).entries()) weights += 4 * width * (mlpWidths[i] ?? 0);
  const held = (name: string): number => {
    const { memory_usage: uses } = server.model(name).statistics();
    assert.deepEqual(
      uses.map(({ type, id }) => [type, id]),
      [['CPU', 0]],
    );
    return uses[0]?.byte_size ?? 0;
  };
  const loaded = held('mlp');
  assert.ok(loaded >= weights && loaded < 1.1 * weights + 2 ** 20, `${loaded} bytes`);
  // Instances of a version share the weights.
  assert.equal(held('two'), loaded);
  await server.infer('mlp', { x: row(0, 64 * inputs) });
  // The arena keeps the memory of intermediate results.
  assert.ok(held('mlp') > loaded);
  assert.deepEqual(server.model('bare').statistics().memory_usage, []);
});

test('what is refused before it is queued is not counted', async (t) => {
  const server = await serve(t, { echo: identity() });
  await rejection(server.infer('echo', { x: row(0, 3) }));
  await server.infer('echo', { x: row() });
  const { inference_stats } = await statisticsAfter(server, 'echo', 1);
  assert.deepEqual([inference_stats.success.count, inference_stats.fail.count], [1, 0]);
});
