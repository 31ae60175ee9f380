// Long: it waits for limits of time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  chain,
  ensemble,
  floats,
  onnx,
  rejection,
  row,
  serve,
  statisticsAfter,
  turn,
} from '../support/harness.js';
import { adds, byFirst, executing, script } from './harness.js';

/** Answers after a delay that depends on the first number of the batch's first request. */
const late = `return new Promise((resolve) => setTimeout(() =>
  resolve(requests.map(({ inputs }) => ({ y: inputs.x }))), (requests[0].inputs.x.data[0] * 7) % 20));`;

test('with preserve_ordering answers come in the order of the requests, whatever ends first', async (t) => {
  for (const preserve of [true, false]) {
    const server = await serve(t, {
      m: script(executing(late), {
        maxBatchSize: 2,
        batching: preserve ? 'preserve_ordering: true' : '',
        instances: 2,
        parameters: { max_concurrency: 8 },
      }),
    });
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        assert.deepEqual(floats(await server.infer('m', { x: row(i) })), [...row(i)]);
        order.push(i);
      }),
    );
    const sorted = [...order].sort((a, b) => a - b);
    if (preserve) assert.deepEqual(order, sorted);
    else assert.notDeepEqual(order, sorted);
  }
});

test('a warm-up runs on every instance before the model is ready, and its error fails the load', async (t) => {
  const more =
    'model_warmup { name: "w" batch_size: 3 count: 2 inputs { key: "x" value { data_type: TYPE_FP32 dims: 16 zero_data: true } } }';
  const server = await serve(t, { m: script(executing(adds), { more, instances: 2 }) });
  const { execution_count: runs, inference_count: rows } = server.model('m').statistics();
  assert.deepEqual([runs, rows], [4, 12]);
  assert.deepEqual(floats(await server.infer('m', { x: row(1) })), [...row(2)]);
  const cold = await rejection(
    serve(t, { m: script(executing(byFirst({ 0: 'throw new Error("too cold");' })), { more }) }),
  );
  assert.equal(cold.code, 'INTERNAL');
  assert.match(cold.message, /model 'm'.*too cold/s);
  const dead = await rejection(
    serve(t, { m: script(executing(byFirst({ 0: 'process.exit(1);' })), { more }) }),
  );
  assert.equal(dead.code, 'UNAVAILABLE');
  assert.match(dead.message, /the thread of instance 'm_0_0' ended/);
});

/** Waits until a message opens the gate, so that requests wait meanwhile. */
const gated = byFirst({
  1: 'return new Promise((resolve) => { globalThis.open = () => resolve(requests.map(({ inputs }) => ({ y: inputs.x }))); });',
  2: `globalThis.open(); ${adds}`,
});

test('a full queue refuses, and a time-out rejects what waits for the model', async (t) => {
  const server = await serve(t, {
    m: script(executing(gated), {
      maxBatchSize: 1,
      batching:
        'default_queue_policy { max_queue_size: 2 allow_timeout_override: true timeout_action: REJECT }',
    }),
  });
  const running = server.infer('m', { x: row(1) });
  running.catch(() => undefined);
  await turn();
  const short = rejection(server.infer('m', { x: row(3) }, { timeoutUs: 1000 }));
  const waiting = server.infer('m', { x: row(4) });
  waiting.catch(() => undefined);
  const full = await rejection(server.infer('m', { x: row(5) }));
  assert.equal(full.code, 'UNAVAILABLE');
  assert.match(full.message, /queue is full: max_queue_size is 2/);
  const expired = await short;
  assert.equal(expired.code, 'UNAVAILABLE');
  assert.match(expired.message, /request timeout expired/);
});

test('a request of a higher priority overtakes those that wait', async (t) => {
  const server = await serve(t, {
    m: script(executing(gated), {
      maxBatchSize: 1,
      batching: 'priority_levels: 2 default_priority_level: 2',
      parameters: { max_concurrency: 2 },
    }),
  });
  // One batch waits at the gate; the others run in sequence in the other place.
  const first = server.infer('m', { x: row(1) });
  const order: number[] = [];
  const ask = async (i: number, priority: number): Promise<void> => {
    await server.infer('m', { x: row(i) }, { priority });
    order.push(i);
  };
  await turn();
  await Promise.all([...Array.from({ length: 20 }, (_, i) => ask(10 + i, 2)), ask(50, 1)]);
  assert.ok(order.indexOf(50) < 20, order.join());
  await server.infer('m', { x: row(2) });
  assert.deepEqual(floats(await first), [...row(1)]);
  const { inference_count: count } = await statisticsAfter(server, 'm', 23);
  assert.equal(count, 23);
});

test('a JavaScript model is a step of an ensemble, before and after other backends', async (t) => {
  const server = await serve(t, {
    first: script(executing(adds)),
    onnx: onnx(),
    last: script(
      executing(
        'return requests.map(({ inputs }) => inputs.x.data[0] === 9 ? new Error("nine") : { y: inputs.x });',
      ),
    ),
    graph: ensemble(chain(['first', 'onnx', 'last'])),
  });
  const all = await Promise.all(
    Array.from({ length: 50 }, (_, i) => server.infer('graph', { x: row(i + 10) })),
  );
  all.forEach((result, i) => {
    assert.deepEqual(floats(result), [...row(i + 12)]);
  });
  const error = await rejection(server.infer('graph', { x: row(7) }));
  assert.equal(error.message, "in ensemble 'graph', model 'last': nine");
});
