/** Ensembles give the same answers as calls of their steps in sequence. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachServer } from '../../src/index.js';
import {
  batchCountsAfter,
  chain,
  ensemble,
  floats,
  identity,
  onnx,
  rejection,
  row,
  serve,
  statisticsAfter,
  turn,
  until,
} from '../support/harness.js';

const three = {
  a: onnx(),
  b: onnx(),
  c: onnx(),
  e: ensemble(chain(['a', 'b', 'c'])),
};

void test('an ensemble gives what its steps give one after the other', async (t) => {
  const server = await serve(t, three);
  const whole = await server.infer('e', { x: row() });
  let values: Float32Array = row();
  for (const step of ['a', 'b', 'c']) {
    values = Float32Array.from(floats(await server.infer(step, { x: values })));
  }
  assert.deepEqual(floats(whole), [...values]);
  assert.deepEqual(whole.outputs['y']?.shape, [1, 16]);
  assert.deepEqual(whole.model, { name: 'e', version: '1' });
});

void test('an ensemble is listed, described and counted like any model', async (t) => {
  const server = await serve(t, three);
  const model = server.model('e');
  assert.equal(model.metadata.platform, 'ensemble');
  assert.ok(server.index().some(({ name, state }) => name === 'e' && state === 'READY'));
  assert.equal(model.config.ensemble_scheduling?.step.length, 3);
  assert.deepEqual(model.runtimeInfo().instances, []);
  await Promise.all(Array.from({ length: 5 }, () => model.infer({ x: row() })));
  const { inference_stats: stats, inference_count: count } = await statisticsAfter(server, 'e', 5);
  assert.equal(count, 5);
  assert.equal(stats.success.count, 5);
  const steps = ['a', 'b', 'c'].map((name) => server.model(name).statistics().inference_stats);
  const sum = (of: 'queue' | 'compute_infer'): number => steps.reduce((ns, step) => ns + step[of].ns, 0);
  assert.equal(stats.compute_infer.ns, sum('compute_infer'));
  assert.equal(stats.queue.ns, sum('queue'));
  const text = server.metrics();
  assert.match(text, /nv_inference_request_success\{model="e",version="1"\} 5/);
  for (const phase of ['request', 'queue', 'compute_input', 'compute_infer', 'compute_output']) {
    const bucket = `nv_inference_${phase}_duration_us_bucket{le="+Inf",model="e",version="1"} 5`;
    assert.ok(text.includes(`${bucket}\n`), bucket);
  }
  // As in Triton, an ensemble has no load duration: only its models are loaded.
  assert.match(text, /nv_model_load_duration_secs\{model="a"/);
  assert.doesNotMatch(text, /nv_model_load_duration_secs\{model="e"/);
});

void test('summaries and first responses of an ensemble are those of its requests', async (t) => {
  const server = await serve(t, three, {
    metricsConfig: { summaryLatencies: true, histogramLatencies: true },
  });
  await Promise.all(Array.from({ length: 5 }, () => server.infer('e', { x: row() })));
  const { inference_stats: stats } = await statisticsAfter(server, 'e', 5);
  const text = server.metrics();
  const median = /nv_inference_request_summary_us\{model="e",quantile="0\.5",version="1"\} ([\d.]+)/.exec(
    text,
  );
  assert.ok(Number(median?.[1]) > 0 && Number(median?.[1]) <= (stats.success.ns / 1000) * 1.01);
  assert.match(text, /nv_inference_first_response_histogram_ms_count\{model="e",version="1"\} 5/);
});

void test('the requests of a tick are one batch in each step', async (t) => {
  const server = await serve(t, three);
  const results = await Promise.all(Array.from({ length: 64 }, (_, i) => server.infer('e', { x: row(i) })));
  results.forEach((result, i) => {
    assert.deepEqual(floats(result), [...row(i + 3)]);
  });
  for (const step of ['a', 'b', 'c']) assert.deepEqual(await batchCountsAfter(server, step, 64), { 64: 1 });
});

void test('steps that the wanted outputs do not need do not run', async (t) => {
  const server = await serve(t, {
    a: onnx(),
    b: onnx(),
    e: ensemble(
      [
        { model: 'a', from: { x: 'x' }, to: { y: 'one' } },
        { model: 'b', from: { x: 'one' }, to: { y: 'two' } },
      ],
      { outputs: [{ name: 'one' }, { name: 'two' }] },
    ),
  });
  const { outputs } = await server.infer('e', { x: row() }, { outputs: ['one'] });
  assert.deepEqual(Object.keys(outputs), ['one']);
  assert.equal(server.model('b').statistics().inference_stats.success.count, 0);
  const both = await server.infer('e', { x: row() });
  assert.deepEqual(floats(both, 'two'), [...row(2)]);
});

void test('ensembles are steps of ensembles', async (t) => {
  const server = await serve(t, { ...three, f: ensemble(chain(['e', 'a', 'e'])) });
  const results = await Promise.all([0, 1, 2].map((i) => server.infer('f', { x: row(i) })));
  results.forEach((result, i) => {
    assert.deepEqual(floats(result), [...row(i + 7)]);
  });
});

void test('a tensor goes between models of which only one batches', async (t) => {
  const flat = identity({ maxBatchSize: 0, batching: false });
  const server = await serve(t, { flat, a: onnx(), e: ensemble(chain(['flat', 'a'])) });
  assert.deepEqual(floats(await server.infer('e', { x: row() })), [...row(1)]);
  const two = await rejection(server.infer('e', { x: { data: new Float32Array(32), shape: [2, 16] } }));
  assert.equal(two.code, 'INVALID_ARG');
  assert.match(two.message, /^in ensemble 'e', model 'flat'/);
});

void test('large tensors and strings pass from step to step', async (t) => {
  const text = {
    inputs: [{ name: 'x', datatype: 'BYTES', dims: [-1] }],
    outputs: [{ name: 'y', datatype: 'BYTES', dims: [-1] }],
  } as const;
  const large = { inputs: [{ name: 'x', dims: [-1] }], outputs: [{ name: 'y', dims: [-1] }] } as const;
  const server = await serve(t, {
    s: identity(text),
    l: identity(large),
    strings: ensemble(chain(['s', 's', 's']), text),
    floats: ensemble(chain(['l', 'l', 'l']), large),
  });
  const words = [
    ['one', 'two'],
    ['three', ''],
    ['a longer one', 'x'],
  ];
  const answers = await Promise.all(words.map((x) => server.infer('strings', { x: [x] })));
  assert.deepEqual(
    answers.map(({ outputs }) => outputs['y']?.strings()),
    words,
  );
  const values = Float32Array.from({ length: 300_000 }, (_, i) => i);
  const results = await Promise.all([1, 2, 3].map(() => server.infer('floats', { x: values })));
  for (const result of results) assert.deepEqual(result.outputs['y']?.data, values);
});

void test("an error of a step names the ensemble, and the step's code stays", async (t) => {
  const server = await serve(t, {
    a: onnx(),
    slow: identity({
      batching: 'default_queue_policy { max_queue_size: 1 } max_queue_delay_microseconds: 0',
      maxBatchSize: 1,
      delayMs: 50,
    }),
    e: ensemble(chain(['a', 'slow']), { maxBatchSize: 1 }),
  });
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => server.infer('e', { x: row() })));
  const failed = outcomes.flatMap((one) =>
    one.status === 'rejected' ? [one.reason as Error & { code: string }] : [],
  );
  assert.ok(failed.length > 0);
  for (const { message, code } of failed) {
    assert.equal(code, 'UNAVAILABLE');
    assert.match(message, /^in ensemble 'e', model 'slow'/);
  }
});

void test('a signal cancels the request in the step where it is', async (t) => {
  const server = await serve(t, {
    // The first run lasts until the others are cancelled.
    slow: identity({ maxBatchSize: 1, delayMs: 500 }),
    a: onnx(),
    e: ensemble(chain(['slow', 'a']), { maxBatchSize: 1 }),
  });
  const first = server.infer('e', { x: row() });
  const controller = new AbortController();
  const waits = Array.from({ length: 10 }, () =>
    server.infer('e', { x: row() }, { signal: controller.signal }),
  );
  await turn();
  controller.abort();
  for (const one of waits) assert.equal((await rejection(one)).code, 'CANCELLED');
  assert.deepEqual(floats(await first), [...row(1)]);
  await until(() => server.model('e').statistics().fail_reasons.CANCELED === 10);
  assert.equal(server.model('a').statistics().inference_stats.success.count, 1);
});

void test('max_inflight_requests lets requests wait without losing one', async (t) => {
  const server = await serve(t, {
    a: onnx(),
    slow: identity({ maxBatchSize: 1, delayMs: 1 }),
    e: ensemble(chain(['a', 'slow', 'a']), { maxBatchSize: 1, maxInflight: 2 }),
  });
  const results = await Promise.all(Array.from({ length: 50 }, (_, i) => server.infer('e', { x: row(i) })));
  results.forEach((result, i) => {
    assert.deepEqual(floats(result), [...row(i + 2)]);
  });
});

void test('close answers what an ensemble has accepted', async (t) => {
  const server = await serve(t, {
    slow: identity({ delayMs: 30 }),
    a: onnx(),
    e: ensemble(chain(['slow', 'a', 'slow'])),
  });
  const results = Promise.all(Array.from({ length: 20 }, (_, i) => server.infer('e', { x: row(i) })));
  await turn();
  await server.close();
  (await results).forEach((result, i) => {
    assert.deepEqual(floats(result), [...row(i + 1)]);
  });
});

void test('close without time cancels what an ensemble has accepted', async (t) => {
  const server = await serve(t, { slow: identity({ delayMs: 200 }), e: ensemble(chain(['slow', 'slow'])) });
  const results = Array.from({ length: 20 }, () => rejection(server.infer('e', { x: row() })));
  await turn();
  await server.close({ timeoutMs: 0 });
  for (const error of await Promise.all(results)) assert.equal(error.code, 'CANCELLED');
});

void test('an attached server runs ensembles', async (t) => {
  const server = await serve(t, three);
  const attached = await attachServer(server.handle);
  t.after(() => attached.close());
  assert.deepEqual(floats(await attached.infer('e', { x: row() })), [...row(3)]);
});
