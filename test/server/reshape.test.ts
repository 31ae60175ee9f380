import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { RepositoryModel } from '../support/repository.js';
import { graph } from '../support/onnx/graph.js';
import { floats, rejection, serve } from '../support/harness.js';

/** A model y = x with the last two of three dims exchanged. The first dim is the batch, or just a dim. */
function transposing(config: string): RepositoryModel {
  const model = graph('transposing')
    .input('x', 'FP32', ['N', 'rows', 'columns'])
    .node('Transpose', ['x'], ['y'], { perm: [0, 2, 1] })
    .output('y', 'FP32', ['N', 'columns', 'rows'])
    .encode();
  return { config, versions: { '1': model } };
}

/** A config with one input x and one output y, of FP32. */
function config(maxBatchSize: number, input: string, output: string): string {
  return `max_batch_size: ${maxBatchSize} dynamic_batching { }
input [ { name: "x" data_type: TYPE_FP32 ${input} } ]
output [ { name: "y" data_type: TYPE_FP32 ${output} } ]`;
}

test('a model gets the shape that reshape says, and its caller the dims, of inputs and outputs', async (t) => {
  const text = config(8, 'dims: [ -1, 6 ] reshape { shape: [ -1, 6 ] }', 'dims: [ -1, -1 ]');
  const plain = transposing(text);
  const variable = transposing(
    config(
      8,
      'dims: [ 2, 1, -1 ] reshape { shape: [ 2, -1 ] }',
      'dims: [ -1, 1, 1, -1 ] reshape { shape: [ -1, -1 ] }',
    ),
  );
  const server = await serve(t, { plain, variable });
  const numbers = Float32Array.of(1, 2, 3, 4, 5, 6);
  const same = await server.infer('plain', { x: { data: numbers, shape: [1, 1, 6] } });
  assert.deepEqual(same.outputs['y']?.shape, [1, 6, 1]);

  // The model gets [1,2,3] and returns [1,3,2].
  const { outputs } = await server.infer('variable', { x: { data: numbers, shape: [1, 2, 1, 3] } });
  assert.deepEqual(outputs['y']?.shape, [1, 3, 1, 1, 2]);
  assert.deepEqual([...floats({ outputs })], [1, 4, 2, 5, 3, 6]);
});

test('several variable dims keep their order', async (t) => {
  const tensors = config(
    4,
    'dims: [ -1, 6, -1 ] reshape { shape: [ -1, 2, 3, -1 ] }',
    'dims: [ 1, -1, 2, 3, -1, 1 ] reshape { shape: [ -1, 6, 1, -1 ] }',
  );
  const server = await serve(t, {
    echo: { config: `backend: "identity" ${tensors}`, versions: { '1': {} } },
  });
  const x = { data: new Float32Array(2 * 5 * 6 * 7), shape: [2, 5, 6, 7] };
  const { outputs } = await server.infer('echo', { x });
  assert.deepEqual(outputs['y']?.shape, [2, 1, 5, 2, 3, 7, 1]);
});

test('requests of different shapes do not run together, those of one do', async (t) => {
  const text = config(8, 'dims: [ -1 ] reshape { shape: [ -1, 1 ] }', 'dims: [ -1, -1 ]');
  const server = await serve(t, { m: transposing(text) });
  const model = server.model('m');
  const rows = [
    [1, 2],
    [3, 4],
    [5, 6, 7],
    [8, 9],
  ];
  const results = await Promise.all(rows.map((row) => model.infer({ x: Float32Array.from(row) })));
  assert.deepEqual(
    results.map((result) => floats(result)),
    rows,
  );
  assert.deepEqual(
    results.map(({ timings }) => timings.batchSize),
    [3, 3, 1, 3],
  );
});

test('reshape works without batching too', async (t) => {
  const text = config(0, 'dims: [ 1, 6 ] reshape { shape: [ 1, 2, 3 ] }', 'dims: [ -1, -1, -1 ]');
  const server = await serve(t, { m: transposing(text) });
  const { outputs } = await server.infer('m', { x: Float32Array.of(1, 2, 3, 4, 5, 6) });
  assert.deepEqual(outputs['y']?.toArray(), [
    [
      [1, 4],
      [2, 5],
      [3, 6],
    ],
  ]);
});

test('metadata and messages show the dims, not what the model gets', async (t) => {
  const text = config(8, 'dims: [ 6 ] reshape { shape: [ 2, 3 ] }', 'dims: [ -1, -1 ]');
  const server = await serve(t, { m: transposing(text) });
  const model = server.model('m');
  assert.deepEqual(model.metadata.inputs[0]?.shape, [-1, 6]);
  assert.deepEqual(model.config.input[0]?.reshape?.shape, [2, 3]);
  const error = await rejection(model.infer({ x: { data: new Float32Array(6), shape: [1, 2, 3] } }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /expected FP32 of shape \[N,6\], 1 ≤ N ≤ 8/);
});

const refused: readonly (readonly [what: string, input: string, field: string, message: RegExp])[] = [
  ['of another size', 'dims: [ 6 ] reshape { shape: [ 2, 2 ] }', 'input[0].reshape', /6 and 4 elements/],
  [
    'with another number of variable dims',
    'dims: [ -1, 6 ] reshape { shape: [ 6 ] }',
    'input[0].reshape',
    /variable/,
  ],
  [
    "that is not the model's",
    'dims: [ 6 ] reshape { shape: [ 6 ] }',
    'input[0].reshape',
    /\[-1,-1,-1\].*says \[6\]/,
  ],
  ['with a dim of 0', 'dims: [ 6 ] reshape { shape: [ 6, 0 ] }', 'input[0].reshape.shape', /found \[6,0\]/],
];

for (const [what, input, field, message] of refused) {
  test(`a reshape ${what} is refused at load, with its line`, async (t) => {
    const error = await rejection(serve(t, { m: transposing(config(8, input, 'dims: [ -1, -1 ]')) }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.equal(error.model, 'm');
    assert.match(error.message, message);
    assert.deepEqual([error.location?.field, error.location?.line], [field, 2]);
    assert.ok(error.location?.file.endsWith(join('m', 'config.pbtxt')), error.location?.file);
  });
}
