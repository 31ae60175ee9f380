import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferResult } from '../../src/index.js';
import { optionalInputModel } from '../support/models.js';
import type { RepositoryModel } from '../support/repository.js';
import { floats, rejection, row, serve, type Context } from '../support/harness.js';

const x = '{ name: "x" data_type: TYPE_FP32 dims: [ -1, 4 ] }';
const bias = '{ name: "bias" data_type: TYPE_FP32 dims: [ 1 ] optional: true }';
const y = '{ name: "y" data_type: TYPE_FP32 dims: [ -1, 4 ] }';

/** A model y = x + bias, where bias is 100 if it is left out. */
function model(inputs: readonly string[], more = '', output = y): RepositoryModel {
  const config = [...inputs.map((input) => `input [ ${input} ]`), `output [ ${output} ]`, more].join('\n');
  return { config, versions: { '1': optionalInputModel() } };
}

const numbers = [[1, 2, 3, 4]];

test('an optional input counts when it is given, and the model has its own value when it is not', async (t) => {
  const server = await serve(t, { m: model([x, bias]) });
  const m = server.model('m');
  const results = await Promise.all([
    m.infer({ x: numbers }),
    m.infer({ x: numbers, bias: [10] }),
    m.infer({ x: numbers, bias: undefined }),
    m.infer({ bias: Float32Array.of(20), x: numbers }),
  ]);
  assert.deepEqual(
    results.map((result) => floats(result)),
    [
      [101, 102, 103, 104],
      [11, 12, 13, 14],
      [101, 102, 103, 104],
      [21, 22, 23, 24],
    ],
  );
  assert.equal(m.config.input[1]?.optional, true);
});

test('it stands before or after the others in the configuration', async (t) => {
  const server = await serve(t, { m: model([bias, x]) });
  assert.deepEqual(floats(await server.infer('m', { x: numbers, bias: [1] })), [2, 3, 4, 5]);
  assert.deepEqual(floats(await server.infer('m', { x: numbers })), [101, 102, 103, 104]);
});

test('what is not optional must be given, and the message tells which are', async (t) => {
  const server = await serve(t, { m: model([x, bias]) });
  const error = await rejection(server.infer('m', { bias: [1] }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /missing 'x'.*'bias' \(FP32 \[1\], optional\)/);
});

test('an optional input is checked like any other', async (t) => {
  const server = await serve(t, { m: model([x, bias]) });
  const error = await rejection(server.infer('m', { x: numbers, bias: [1, 2] }));
  assert.deepEqual([error.code, error.tensor], ['INVALID_ARG', 'bias']);
});

test('a configuration may leave it out, and completion does', async (t) => {
  const server = await serve(t, {
    without: model([x]),
    completed: { versions: { '1': optionalInputModel() } },
  });
  for (const name of ['without', 'completed']) {
    assert.deepEqual(floats(await server.infer(name, { x: numbers })), [101, 102, 103, 104]);
    const error = await rejection(server.infer(name, { x: numbers, bias: [1] }));
    assert.match(error.message, /no input is named 'bias'/);
  }
});

async function refusal(t: Context, one: RepositoryModel): Promise<[string, string | undefined, string]> {
  const error = await rejection(serve(t, { m: one }));
  return [error.code, error.location?.field, error.message];
}

test('onnxruntime takes no optional input in a model that batches', async (t) => {
  const flat = (tensor: string): string => tensor.replace('[ -1, 4 ]', '[ 4 ]');
  const [code, field, message] = await refusal(t, model([flat(x), bias], 'max_batch_size: 8', flat(y)));
  assert.deepEqual([code, field], ['INVALID_ARG', 'input[1].optional']);
  assert.match(message, /only without batching but max_batch_size is 8/);
});

test('an input without a value in the model cannot be optional', async (t) => {
  const [code, field, message] = await refusal(t, model([x.replace('}', 'optional: true }'), bias]));
  assert.deepEqual([code, field], ['INVALID_ARG', 'input[0].optional']);
  assert.match(message, /the model needs its input "x"/);
});

const batching = `backend: "identity" max_batch_size: 8 dynamic_batching { }
input [ { name: "a" data_type: TYPE_FP32 dims: [ 16 ] optional: true } ]
input [ { name: "b" data_type: TYPE_FP32 dims: [ 16 ] optional: true } ]
output [ { name: "c" data_type: TYPE_FP32 dims: [ 16 ] }, { name: "d" data_type: TYPE_FP32 dims: [ 16 ] } ]`;

test('requests with different sets of inputs do not run together, those with one set do', async (t) => {
  const server = await serve(t, { m: { config: batching, versions: { '1': {} } } });
  const m = server.model('m');
  const both = { a: row(1), b: row(2) };
  const sets = [both, both, { a: row(3) }, { a: row(4) }, { a: row(5) }, { b: row(6) }, both];
  const results: readonly InferResult[] = await Promise.all(sets.map((inputs) => m.infer(inputs)));
  assert.deepEqual(
    results.map(({ timings }) => timings.batchSize),
    [3, 3, 3, 3, 3, 1, 3],
  );
  assert.deepEqual(
    results.map(({ outputs }) => [outputs['c']?.data[0], outputs['d']?.data[0]]),
    [
      [1, 2],
      [1, 2],
      [3, undefined],
      [4, undefined],
      [5, undefined],
      [undefined, 6],
      [1, 2],
    ],
  );
});

test('a request to a batching model names at least one input', async (t) => {
  const server = await serve(t, { m: { config: batching, versions: { '1': {} } } });
  const error = await rejection(server.infer('m', {}));
  assert.deepEqual([error.code, error.model], ['INVALID_ARG', 'm']);
  assert.match(error.message, /model 'm': expected at least one input/);
});
