import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { addModel } from '../support/models.js';
import { configText, floats, identity, onnx, rejection, row, serve, thrown } from '../support/harness.js';

test('the index lists models by name and versions ascending', async (t) => {
  const config = configText({ more: 'version_policy { all { } }' });
  const server = await serve(t, {
    b: { config, versions: { '10': addModel(), '9': addModel() } },
    a: identity(),
  });
  assert.deepEqual(server.index(), [
    { name: 'a', version: '1', state: 'READY' },
    { name: 'b', version: '9', state: 'READY' },
    { name: 'b', version: '10', state: 'READY' },
  ]);
});

test('index({ ready: true }) lists what is ready', async (t) => {
  const server = await serve(t, { a: identity(), b: { config: configText() } }, { exitOnError: false });
  assert.deepEqual(server.index({ ready: true }), [{ name: 'a', version: '1', state: 'READY' }]);
});

test('wrong options of index are refused', async (t) => {
  const server = await serve(t, {});
  assert.match(thrown(() => server.index({ redy: true } as object)).message, /did you mean ready\?/);
  assert.equal(thrown(() => server.index(5 as unknown as object)).code, 'INVALID_ARG');
});

test('there is one handle for a name and version', async (t) => {
  const server = await serve(t, { a: identity() });
  assert.equal(server.model('a'), server.model('a'));
  assert.equal(server.model('a', 1), server.model('a', '1'));
  assert.notEqual(server.model('a'), server.model('a', 1));
});

test('a handle has the name and the version as asked', async (t) => {
  const server = await serve(t, { a: identity() });
  assert.deepEqual([server.model('a').name, server.model('a').version], ['a', undefined]);
  assert.equal(server.model('a', 1).version, '1');
});

test('a pinned version that does not exist has a handle that is not ready', async (t) => {
  const server = await serve(t, { a: identity() });
  const model = server.model('a', 7);
  assert.equal(model.ready, false);
  const error = thrown(() => model.config);
  assert.equal(error.code, 'NOT_FOUND');
  assert.match(error.message, /model 'a', version 7 is not available: the ready versions: 1/);
});

void suite('a name that is not a string is refused:', () => {
  for (const name of [undefined, null, 7, Symbol('a'), {}] as const) {
    test(typeof name === 'symbol' ? 'a symbol' : JSON.stringify(name), async (t) => {
      const server = await serve(t, {});
      const error = thrown(() => server.model(name as string, 1));
      assert.equal(error.code, 'INVALID_ARG');
      assert.match(error.message, /expected a model's name/);
    });
  }
});

test('an unknown name says that there are no models', async (t) => {
  const server = await serve(t, {});
  assert.match(thrown(() => server.model('a')).message, /the server's models are: \(none\)$/);
});

test('an unknown name lists only so many names', async (t) => {
  const names = Array.from({ length: 20 }, (_, i) => `m${String(i).padStart(2, '0')}`);
  const models = Object.fromEntries(names.map((name) => [name, identity()]));
  const server = await serve(t, models, { modelControlMode: 'explicit' });
  assert.match(thrown(() => server.model('zebra')).message, /are: m00, m01, .*, m11, …$/);
});

test('server.infer rejects where server.model throws', async (t) => {
  const server = await serve(t, {});
  assert.equal((await rejection(server.infer('a', {}))).code, 'NOT_FOUND');
  assert.equal((await rejection(server.infer(7 as unknown as string, {}))).code, 'INVALID_ARG');
});

test('names of object properties are names of models like any other', async (t) => {
  const server = await serve(t, { constructor: identity(), toString: identity() });
  assert.equal((await server.infer('constructor', { x: row() })).model.name, 'constructor');
  assert.equal(thrown(() => server.model('__proto__')).code, 'NOT_FOUND');
});

test('metadata of a batching model has -1 for the batch, and for variable dims', async (t) => {
  const inputs = [{ name: 'ids', datatype: 'INT64', dims: [-1, 2] }] as const;
  const outputs = [{ name: 'out', datatype: 'INT64', dims: [-1, 2] }] as const;
  const server = await serve(t, { a: identity({ inputs, outputs }) });
  assert.deepEqual(server.model('a').metadata, {
    name: 'a',
    versions: ['1'],
    platform: 'identity',
    inputs: [{ name: 'ids', datatype: 'INT64', shape: [-1, -1, 2] }],
    outputs: [{ name: 'out', datatype: 'INT64', shape: [-1, -1, 2] }],
  });
});

test('metadata of a model that does not batch has its dims alone', async (t) => {
  const server = await serve(t, { add: onnx(addModel({ batch: false }), { maxBatchSize: 0 }) });
  assert.deepEqual(server.model('add').metadata.inputs, [{ name: 'x', datatype: 'FP32', shape: [16] }]);
});

test('the config is complete, in names of Triton, and frozen', async (t) => {
  const server = await serve(t, { add: onnx() });
  const { config } = server.model('add');
  assert.equal(config.name, 'add');
  assert.equal(config.max_batch_size, 64);
  assert.deepEqual(config.dynamic_batching?.preferred_batch_size, [64]);
  assert.equal(config.default_model_filename, 'model.onnx');
  assert.ok(Object.isFrozen(config) && Object.isFrozen(config.input[0]?.dims));
});

test('notes list hints without effect', async (t) => {
  const server = await serve(t, {
    add: onnx(undefined, { more: 'optimization { priority: PRIORITY_MAX }' }),
  });
  const { notes } = server.model('add');
  assert.ok(Object.isFrozen(notes));
  assert.ok(
    notes.some((note) => note.startsWith('optimization.priority')),
    notes.join('\n'),
  );
});

test('a handle is the same each time, as far as not too many others were asked for', async (t) => {
  const server = await serve(t, { add: onnx() });
  const first = server.model('add', 1);
  for (let version = 2; version < 1000; version++) server.model('add', version);
  assert.equal(server.model('add', 1), first);
  for (let version = 1000; version < 2000; version++) server.model('add', version);
  assert.notEqual(server.model('add', 1), first);
  assert.deepEqual(floats(await first.infer({ x: row() })), [...row(1)]);
});
