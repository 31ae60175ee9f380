import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backends } from '../../src/backends/index.js';
import { identity, rejection, serve } from '../support/harness.js';

test('a backend is found under the name that it has', () => {
  for (const [name, backend] of backends()) assert.equal(backend.name, name);
  assert.ok(backends().has('onnxruntime') && backends().has('identity'));
});

test('a model of an unknown backend does not load, and the error lists the backends', async (t) => {
  const { config = '', versions = {} } = identity();
  const models = { odd: { config: config.replace('"identity"', '"onnxrt"'), versions } };
  const error = await rejection(serve(t, models));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /'onnxrt'/);
  assert.match(error.message, /identity, javascript, onnxruntime, /);
});

test("the error about a backend of Triton's that is not built in says what to do instead", async (t) => {
  const { config = '', versions = {} } = identity();
  for (const [written, advice] of [
    [
      'backend: "vllm"',
      /unknown backend 'vllm'.* not built in: run the engine in a model\.py with backend "python"/,
    ],
  ] as const) {
    const models = { odd: { config: config.replace('backend: "identity"', written), versions } };
    const error = await rejection(serve(t, models));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, advice);
  }
});
