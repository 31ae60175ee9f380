import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer, TritonError } from '../../src/index.js';
import { addModel, unsupportedOperatorModel } from '../support/models.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import {
  configText,
  identity,
  onnx,
  rejection,
  row,
  serve,
  start,
  thrown,
  threadCount,
  until,
} from '../support/harness.js';

/** A good model, and a model for each way to fail. */
function mixed(): Record<string, RepositoryModel> {
  return {
    good: onnx(),
    broken: onnx(Uint8Array.of(1, 2, 3)),
    odd: onnx(unsupportedOperatorModel()),
    empty: { config: configText() },
    typo: { config: configText({ more: 'max_batchsize: 8' }), versions: { '1': addModel() } },
  };
}

test('createServer rejects with one error that lists every failed model with its reason', async (t) => {
  const error = await rejection(serve(t, mixed()));
  const lines = error.message.split('\n');
  assert.match(
    lines[0] ?? '',
    /^4 of 5 models could not be loaded \(exitOnError: false serves the others\):$/,
  );
  const models = lines.flatMap((line) => /^ {2}(\w+): /.exec(line)?.[1] ?? []);
  assert.deepEqual(models, ['broken', 'empty', 'odd', 'typo']);
  assert.match(error.message, /NoSuchOperator/);
  assert.match(error.message, /max_batchsize.*max_batch_size/);
  assert.match(error.message, /no version folder/);
});

test('its cause has one error a model, each a TritonError that names it', async (t) => {
  const { cause } = await rejection(serve(t, mixed()));
  assert.ok(cause instanceof AggregateError);
  const errors: readonly unknown[] = cause.errors;
  const models = errors.map((error) => (error instanceof TritonError ? error.model : undefined));
  assert.deepEqual(models, ['broken', 'empty', 'odd', 'typo']);
});

test('one failed model gives its own code, name and place to the error', async (t) => {
  const error = await rejection(serve(t, { typo: mixed()['typo'] ?? {}, good: onnx() }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.equal(error.model, 'typo');
  assert.match(error.location?.file ?? '', /typo[\\/]config\.pbtxt$/);
  assert.ok(error.cause instanceof AggregateError);
});

test('failures of one kind give their code to the error', async (t) => {
  const backendConfig = { onnxruntime: { library: '/no/such/library.so' } };
  const error = await rejection(serve(t, { a: onnx(), b: onnx() }, { backendConfig }));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.equal(error.model, undefined);
});

test('a model that stands in two repositories is refused, with both folders', async (t) => {
  const first = await writeRepository(await temporaryFolder(t), { twin: identity(), other: identity() });
  const second = await writeRepository(await temporaryFolder(t), { twin: identity() });
  const error = await rejection(createServer([first, second]));
  assert.equal(error.code, 'INVALID_ARG');
  assert.equal(error.model, 'twin');
  assert.ok(error.message.includes(`${join(first, 'twin')}, ${join(second, 'twin')}`), error.message);
});

test('a refused start leaves no thread behind', async (t) => {
  await rejection(serve(t, mixed())); // This starts everything that the runtime starts once in a process.
  const before = await threadCount();
  await rejection(serve(t, { ...mixed(), echo: identity(), more: onnx(undefined, { instances: 3 }) }));
  await until(async () => (await threadCount()) <= before);
});

test('with exitOnError: false the others are served', async (t) => {
  const server = await serve(t, mixed(), { exitOnError: false });
  const { outputs } = await server.infer('good', { x: row(1) });
  assert.deepEqual(outputs['y']?.data, row(2));
  assert.equal(server.ready, false);
});

test('the index says why a failed model is UNAVAILABLE', async (t) => {
  const server = await serve(t, mixed(), { exitOnError: false });
  const states = Object.fromEntries(
    server.index().map(({ name, state, reason }) => [name, { state, reason }]),
  );
  assert.deepEqual(states['good'], { state: 'READY', reason: undefined });
  for (const name of ['broken', 'empty', 'odd', 'typo'])
    assert.equal(states[name]?.state, 'UNAVAILABLE', name);
  assert.match(states['odd']?.reason ?? '', /NoSuchOperator/);
  assert.match(states['typo']?.reason ?? '', /max_batch_size/);
  assert.deepEqual(
    server.index({ ready: true }).map(({ name }) => name),
    ['good'],
  );
});

test('a request to a failed model is UNAVAILABLE with its reason', async (t) => {
  const server = await serve(t, mixed(), { exitOnError: false });
  const error = await rejection(server.infer('odd', { x: row() }));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.equal(error.model, 'odd');
  assert.match(error.message, /model 'odd' is not ready: .*NoSuchOperator/s);
});

test('a failed model has a handle, whose errors say why it failed', async (t) => {
  const server = await serve(t, mixed(), { exitOnError: false });
  const model = server.model('typo');
  assert.equal(model.ready, false);
  for (const ask of [() => model.config, () => model.metadata, () => model.notes, () => model.statistics()]) {
    const error = thrown(ask);
    assert.equal(error.code, 'UNAVAILABLE');
    assert.match(error.message, /max_batch_size/);
  }
});

test('one failed version of several makes the whole model fail', async (t) => {
  const config = configText({ more: 'version_policy { all { } }' });
  const versions = { '1': addModel(), '2': unsupportedOperatorModel() };
  const server = await serve(t, { two: { config, versions } }, { exitOnError: false });
  const states = server.index().map(({ version, state }) => ({ version, state }));
  assert.deepEqual(states, [{ version: '2', state: 'UNAVAILABLE' }]);
  assert.equal((await rejection(server.infer('two', { x: row() }, { version: 1 }))).code, 'NOT_FOUND');
});

test('what a config asks for and the server lacks is UNSUPPORTED, with the field', async (t) => {
  const config = configText({ batching: false, more: 'instance_group [ { kind: KIND_CPU passive: true } ]' });
  const error = await rejection(serve(t, { chat: { config, versions: { '1': addModel() } } }));
  assert.equal(error.code, 'UNSUPPORTED');
  assert.match(error.message, /instance_group\[1\]\.passive/);
});

test('a config that does not fit the model names both sides', async (t) => {
  const error = await rejection(serve(t, { add: onnx(undefined, { inputs: [{ name: 'x', dims: [8] }] }) }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /\[8\]/);
  assert.match(error.message, /16/);
});

test('a start after a refused one is a start like any other', async (t) => {
  const folder = await writeRepository(await temporaryFolder(t), { add: onnx(Uint8Array.of(0)) });
  await rejection(createServer(folder));
  await writeRepository(folder, { add: onnx() });
  const server = await start(t, folder);
  assert.equal(server.ready, true);
});
