import assert from 'node:assert/strict';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { createServer, type InferenceServer, type ServerOptions } from '../../../src/index.js';
import {
  floats,
  identity,
  onnx,
  rejection,
  row,
  serve,
  start,
  thrown,
  until,
  type Context,
} from '../../support/harness.js';
import { addModel } from '../../support/models.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { gated, isLoaded, loaded, metric } from './harness.js';

/** A server of models that the program gives. */
async function given(
  context: Context,
  models: ServerOptions['models'],
  options: ServerOptions = {},
): Promise<InferenceServer> {
  const server = await createServer({ models, load: 'lazy', ...options });
  context.after(() => server.close({ timeoutMs: 0 }));
  return server;
}

test('the first request loads a lazy model, which counts as ready before', async (t) => {
  const server = await serve(t, { add: onnx(), other: onnx() }, { load: 'lazy' });
  assert.equal(server.ready, true);
  assert.deepEqual(loaded(server), []);
  assert.deepEqual(server.index({ ready: true })[0], {
    name: 'add',
    state: 'READY',
    reason: 'lazy: loaded at the next request',
  });
  const model = server.model('add');
  assert.equal(model.ready, true);
  assert.equal(await model.checkReady(), true);
  const unknown = thrown(() => model.metadata);
  assert.deepEqual([unknown.code, unknown.reason], ['UNAVAILABLE', 'NOT_READY']);
  assert.match(unknown.message, /model 'add' is lazy, and was not loaded yet/);
  assert.deepEqual(floats(await model.infer({ x: row() })), [...row(1)]);
  assert.deepEqual(loaded(server), ['add']);
  assert.deepEqual(model.metadata.versions, ['1']);
  assert.equal(metric(server, 'tritonts_lazy_loads'), 1);
});

test('requests that come meanwhile wait for the same load, and are answered in their order', async (t) => {
  const { model, begun, open } = gated();
  const server = await given(t, { add: model });
  const answered: number[] = [];
  const x = row();
  const outputs = ['y'];
  const requests = Array.from({ length: 50 }, (_, i) =>
    server.infer('add', { x }, { outputs }).then((result) => {
      answered.push(i);
      return floats(result);
    }),
  );
  // The inputs and options were copied at the call.
  x.fill(-1);
  outputs[0] = 'none';
  await until(() => begun() === 1);
  assert.match(server.index()[0]?.reason ?? '', /^lazy: being loaded$/);
  assert.equal(server.ready, true);
  open();
  for (const result of await Promise.all(requests)) assert.deepEqual(result, [...row(1)]);
  assert.deepEqual(
    answered,
    [...answered].sort((a, b) => a - b),
  );
  assert.equal(begun(), 1);
});

test('a signal, a time limit and an end of the reader work while a request waits', async (t) => {
  const { model, begun, open } = gated();
  const server = await given(t, { add: model });
  const controller = new AbortController();
  const cancelled = rejection(server.infer('add', { x: row() }, { signal: controller.signal }));
  const late = rejection(server.infer('add', { x: row() }, { timeoutMs: 20 }));
  const stream = server.stream('add', { x: row() });
  const left = server.stream('add', { x: row() });
  await until(() => begun() === 1);
  controller.abort();
  await left.return?.();
  assert.equal((await cancelled).code, 'CANCELLED');
  assert.deepEqual([(await late).code, (await late).reason], ['UNAVAILABLE', 'TIMED_OUT']);
  assert.equal(
    (await rejection(server.infer('add', { x: row() }, { signal: controller.signal }))).code,
    'CANCELLED',
  );
  open();
  const answers: number[][] = [];
  for await (const result of stream) answers.push(floats(result));
  assert.deepEqual(answers, [[...row(1)]]);
  assert.equal((await left.next()).done, true);
});

test('one signal may be that of many requests that wait', async (t) => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  t.after(() => process.off('warning', note));
  const slow = gated();
  const server = await given(t, { slow: slow.model });
  const stop = new AbortController();
  const x = row();
  const requests = Array.from({ length: 20 }, () => server.infer('slow', { x }, { signal: stop.signal }));
  const all = Promise.allSettled(requests);
  await until(() => slow.begun() === 1);
  stop.abort();
  assert.ok((await all).every(({ status }) => status === 'rejected'));
  slow.open();
  assert.deepEqual(warnings, []);
});

test('map, stream and sequence have a model loaded', async (t) => {
  const sequence = identity({
    batching: false,
    more: 'sequence_batching { max_sequence_idle_microseconds: 60000000 }',
  });
  const server = await serve(t, { a: onnx(), b: onnx(), c: sequence }, { load: 'lazy' });
  const results: number[][] = [];
  for await (const result of server.model('a').map([{ x: row(0) }, { x: row(1) }]))
    results.push(floats(result));
  assert.deepEqual(results, [[...row(1)], [...row(2)]]);
  for await (const result of server.model('b').stream({ x: row() }))
    assert.deepEqual(floats(result), [...row(1)]);
  const steps = server.model('c').sequence();
  const answers = await Promise.all([
    steps.infer({ x: row(1) }),
    steps.infer({ x: row(2) }),
    steps.end({ x: row(3) }),
  ]);
  assert.deepEqual(
    answers.map((answer) => floats(answer)[0]),
    [1, 2, 3],
  );
});

test('requests that wait count against maxInFlightBytes', async (t) => {
  const { model, begun, open } = gated();
  const server = await given(t, { add: model }, { maxInFlightBytes: 4096 });
  const held = [
    server.infer('add', { x: row() }),
    server.infer('add', { x: row() }),
    server.infer('add', { x: row() }),
  ];
  const error = await rejection(server.infer('add', { x: row() }));
  assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'TOO_MUCH_IN_FLIGHT']);
  await until(() => begun() === 1);
  open();
  for (const result of await Promise.all(held)) assert.deepEqual(floats(result), [...row(1)]);
});

test('the parameter load goes before the option, and a wrong one fails the start', async (t) => {
  const models = {
    lazy: onnx(addModel(), { parameters: { load: 'lazy' } }),
    eager: onnx(addModel(), { parameters: { load: 'eager' } }),
    other: onnx(),
  };
  const server = await serve(t, models);
  assert.deepEqual(loaded(server), ['eager', 'other']);
  const lazy = await serve(t, models, { load: 'lazy' });
  assert.deepEqual(loaded(lazy), ['eager']);
  for (const load of ['lazy', 'eager'] as const) {
    const error = await rejection(
      serve(t, { m: onnx(addModel(), { parameters: { load: 'later' } }) }, { load }),
    );
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, /expected 'eager' or 'lazy' but found "later"/);
  }
  const broken = await rejection(
    serve(t, { m: { config: 'backend: ', versions: { '1': addModel() } } }, { load: 'lazy' }),
  );
  assert.equal(broken.code, 'INVALID_ARG');
  assert.equal((await rejection(createServer('.', { load: 'never' as 'lazy' }))).code, 'INVALID_ARG');
  assert.equal((await rejection(createServer('.', { memoryBudgetBytes: 0 }))).code, 'INVALID_ARG');
});

test('a failed load is the error of its requests, is not repeated for each, and is repeated when files change', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { add: onnx(new Uint8Array([1, 2, 3])) });
  const server = await start(t, folder, { load: 'lazy', logger: {} });
  const errors = await Promise.all(
    Array.from({ length: 20 }, () => rejection(server.infer('add', { x: row() }))),
  );
  for (const { model, message } of errors) assert.deepEqual([model, message], ['add', errors[0]?.message]);
  const began = performance.now();
  let requests = 0;
  while (performance.now() - began < 300) {
    await rejection(server.infer('add', { x: row() }));
    requests++;
  }
  // One at first, one or two after the first pause, of a quarter of a second.
  assert.ok(metric(server, 'tritonts_lazy_load_failures') <= 3, `${requests} requests`);
  assert.equal(server.model('add').ready, false);
  assert.equal(server.ready, true);
  await writeFile(join(folder, 'add', '1', 'model.onnx'), addModel());
  await until(() =>
    server.infer('add', { x: row() }).then(
      () => true,
      () => false,
    ),
  );
  assert.equal(server.model('add').ready, true);
});

test('a failed model counts as ready when its pause has ended', async (t) => {
  const { model, open } = gated();
  open(new Error('no weights'));
  const server = await given(t, { add: model }, { logger: {} });
  assert.match((await rejection(server.infer('add', { x: row() }))).message, /no weights/);
  assert.equal(server.model('add').ready, false);
  await until(() => server.model('add').ready);
  assert.equal(server.index()[0]?.reason, 'lazy: loaded at the next request');
  open();
  assert.deepEqual(floats(await server.infer('add', { x: row() })), [...row(1)]);
});

test('inputs of a request that waits are copied: a Buffer, too', async (t) => {
  const text = identity({
    inputs: [{ name: 'x', datatype: 'BYTES', dims: [1] }],
    outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }],
  });
  const server = await serve(t, { text }, { load: 'lazy' });
  const bytes = Buffer.from('AAAA');
  const answer = server.infer('text', { x: [[bytes]] });
  bytes.fill('B');
  assert.deepEqual((await answer).outputs['y']?.toArray(), [[Buffer.from('AAAA')]]);
});

test('close rejects the requests that wait', async (t) => {
  const { model, begun, open } = gated();
  const server = await given(t, { add: model });
  const waiting = rejection(server.infer('add', { x: row() }));
  await until(() => begun() === 1);
  const closed = server.close({ timeoutMs: 0 });
  const error = await waiting;
  open();
  await closed;
  assert.deepEqual([error.code, error.reason], ['UNAVAILABLE', 'CLOSED']);
});

test('explicit mode: models to load at the start are lazy, a load is at once, and an unloaded model is not woken', async (t) => {
  const server = await serve(
    t,
    { a: onnx(), b: onnx() },
    { load: 'lazy', modelControlMode: 'explicit', loadModels: ['a'] },
  );
  assert.deepEqual(loaded(server), []);
  assert.equal((await rejection(server.infer('b', { x: row() }))).code, 'NOT_FOUND');
  await server.infer('a', { x: row() });
  await server.loadModel('b');
  assert.deepEqual(loaded(server), ['a', 'b']);
  await server.unloadModel('a');
  assert.equal((await rejection(server.infer('a', { x: row() }))).code, 'NOT_FOUND');
  await server.loadModel('a');
  await server.infer('a', { x: row() });
});

test('loadModel loads a lazy model in each mode, and says whether it did', async (t) => {
  const server = await serve(t, { a: onnx() }, { load: 'lazy' });
  assert.deepEqual(await server.loadModel('a'), { changed: true });
  assert.equal(isLoaded(server, 'a'), true);
  assert.deepEqual(await server.loadModel('a'), { changed: false });
  assert.equal((await rejection(server.loadModel('a', { force: true }))).code, 'UNAVAILABLE');
});

test('a pinned version that does not exist is told after the load', async (t) => {
  const server = await serve(t, { a: onnx() }, { load: 'lazy' });
  assert.equal((await rejection(server.infer('a', { x: row() }, { version: 7 }))).code, 'NOT_FOUND');
  assert.deepEqual(floats(await server.infer('a', { x: row() }, { version: 1 })), [...row(1)]);
});
