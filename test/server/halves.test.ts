/** A batch that fails as a whole is run again in halves, so that one bad request fails alone. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferenceServer, TritonError } from '../../src/index.js';
import { failingModel } from '../support/models.js';
import { floats, onnx, rejection, serve, type Context } from '../support/harness.js';

const bad = 99;

/** A model value = 10 * index, for indices below 8. Any other one makes the run of its whole batch fail. */
function lookUp(t: Context, text = '', batching = ''): Promise<InferenceServer> {
  const model = onnx(failingModel(), {
    maxBatchSize: 32,
    inputs: [{ name: 'index', datatype: 'INT64', dims: [1] }],
    outputs: [{ name: 'value', dims: [1] }],
    batching,
    more: text,
  });
  return serve(t, { m: model });
}

const off = `parameters { key: "rerun_in_halves" value { string_value: "false" } }`;

/** Sends requests in one turn, and checks each outcome. Returns the indices that were answered, in order. */
async function askAll(server: InferenceServer, indices: readonly number[]): Promise<number[]> {
  const order: number[] = [];
  const requests = indices.map(async (index, i) => {
    try {
      const result = await server.infer('m', { index: [[index]] });
      assert.deepEqual(floats(result, 'value'), [index * 10]);
    } catch (error) {
      assert.equal((error as TritonError).code, 'INTERNAL', String(error));
      assert.equal(index, bad, String(error));
      assert.match((error as TritonError).message, /model 'm'.*Gather.*idx=99/s);
    }
    order.push(i);
  });
  await Promise.all(requests);
  return order;
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

test('of four requests one is bad: three are answered, and one has the error of the runtime', async (t) => {
  const server = await lookUp(t);
  await askAll(server, [1, 2, bad, 4]);
  const [statistics] = server.statistics('m');
  assert.equal(statistics?.reruns, 4);
  assert.equal(statistics.execution_count, 5);
  assert.match(server.metrics(), /^tritonts_inference_reruns\{model="m",version="1"\} 4$/m);
  assert.equal(statistics.inference_count, 3);
  assert.equal(statistics.inference_stats.success.count, 3);
  assert.equal(statistics.inference_stats.fail.count, 1);
  assert.equal(statistics.fail_reasons.BACKEND, 1);
  assert.deepEqual(
    statistics.batch_stats.map(({ batch_size: size, compute_infer: { count } }) => [size, count]),
    [
      [1, 1],
      [2, 1],
    ],
  );
});

test('of 32 requests three are bad', async (t) => {
  const server = await lookUp(t);
  const indices = upTo(32).map((i) => ([3, 17, 30].includes(i) ? bad : i % 8));
  await askAll(server, indices);
  const [statistics] = server.statistics('m');
  assert.equal(statistics?.inference_stats.success.count, 29);
  assert.ok(statistics.reruns <= 2 * 3 * 5, String(statistics.reruns));
});

test('where all are bad, each is run alone at last, and not once more', async (t) => {
  const server = await lookUp(t);
  await askAll(server, new Array<number>(32).fill(bad));
  const [statistics] = server.statistics('m');
  assert.equal(statistics?.execution_count, 63);
  assert.equal(statistics.reruns, 62);
});

test('answers in order stay in order', async (t) => {
  const server = await lookUp(t, '', 'preserve_ordering: true');
  const indices = upTo(40).map((i) => (i % 7 === 2 ? bad : i % 8));
  assert.deepEqual(await askAll(server, indices), upTo(40));
});

test('an answer tells of the run that gave it', async (t) => {
  const server = await lookUp(t);
  const sent = [1, 2, bad].map((index) => server.infer('m', { index: [[index]] }));
  const [first, second] = await Promise.allSettled(sent);
  assert.ok(first?.status === 'fulfilled' && second?.status === 'fulfilled');
  assert.equal(first.value.timings.batchSize, 2);
  assert.deepEqual(second.value.timings, first.value.timings);
});

test('a request that is cancelled is not in the way of the others', async (t) => {
  const server = await lookUp(t);
  for (let round = 0; round < 20; round++) {
    const controller = new AbortController();
    const cancelled = server.infer('m', { index: [[3]] }, { signal: controller.signal });
    const outcome = cancelled.then(
      () => 'answered',
      (error: unknown) => (error as Error).name,
    );
    const others = askAll(server, [1, bad, 4, 5]);
    setImmediate(() => {
      controller.abort();
    });
    await others;
    assert.ok(['answered', 'AbortError', 'TritonError'].includes(await outcome), await outcome);
  }
});

test('one request is never run twice, nor any where the model says so', async (t) => {
  const server = await lookUp(t);
  await askAll(server, [bad]);
  assert.equal(server.statistics('m')[0]?.reruns, 0);

  const plain = await lookUp(t, off);
  const all = await Promise.allSettled([1, bad, 2].map((index) => plain.infer('m', { index: [[index]] })));
  assert.deepEqual(new Set(all.map(({ status }) => status)), new Set(['rejected']));
  assert.equal(plain.statistics('m')[0]?.reruns, 0);
  assert.equal(plain.statistics('m')[0]?.execution_count, 1);
});

test('a value that is neither true nor false fails the load, with its line', async (t) => {
  const error = await rejection(lookUp(t, off.replace('"false"', '"no"')));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(
    error.message,
    /config\.pbtxt:\d+.*rerun_in_halves.*expected 'true' or 'false' but found "no"/s,
  );
});

test('requests are answered when the server closes while halves run', async (t) => {
  const server = await lookUp(t);
  const sent = [1, bad, 2, bad, 3].map((index) => server.infer('m', { index: [[index]] }));
  const [closed, ...outcomes] = await Promise.allSettled([server.close(), ...sent]);
  assert.equal(closed.status, 'fulfilled');
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
  );
});
