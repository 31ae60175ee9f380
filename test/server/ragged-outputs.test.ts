/** Ragged batches: how outputs are split, what must be equal, and models that take each request by itself. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferenceServer } from '../../src/index.js';
import { executing, script } from '../javascript/harness.js';
import { script as python, serving, skip } from '../python/harness.js';
import { floats, onnx, rejection, serve } from '../support/harness.js';
import { graph } from '../support/onnx/graph.js';
import { made, raggedRows, together } from '../support/ragged.js';

/** y = 2 x, in one dimension. */
const doubles = graph('doubles')
  .input('x', 'FP32', ['T'])
  .initializer('two', 'FP32', [1], [2])
  .node('Mul', ['x', 'two'], ['y'])
  .output('y', 'FP32', ['T'])
  .encode();
const scatter = 'batch_output { target_name: "y" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "x" }';
function askRows(server: InferenceServer, name: string, shapes: readonly (readonly [number, number])[]) {
  return shapes.map(([rows, length], i) =>
    server.infer(name, {
      x: { data: Float32Array.from({ length: rows * length }, (_, k) => 100 * i + k), shape: [rows, length] },
    }),
  );
}

test('an output is cut by the shapes of an input, for requests of several rows, too', async (t) => {
  const shapes = [
    [1, 3],
    [2, 2],
    [3, 1],
  ] as const;
  const server = await serve(t, {
    m: onnx(doubles, { ...raggedRows, batching: together(6), more: scatter }),
  });
  const results = await Promise.all(askRows(server, 'm', shapes));
  for (const [i, { outputs, timings }] of results.entries()) {
    const [rows, length] = shapes[i] ?? [0, 0];
    assert.equal(timings.batchSize, 6);
    assert.deepEqual(outputs['y']?.shape, [rows, length]);
    assert.deepEqual(
      [...floats({ outputs })],
      Array.from({ length: rows * length }, (_, k) => 2 * (100 * i + k)),
    );
  }
});

test('an output with one row for each request serves the first ones, and the others fail', async (t) => {
  // Sums over the whole batch, one for each text.
  const model = graph('counts')
    .input('x', 'FP32', ['T'])
    .input('n', 'INT32', ['N'])
    .initializer('columns', 'INT64', [2], [-1, 1])
    .node('Cast', ['n'], ['numbers'], { to: 1 })
    .node('Reshape', ['numbers', 'columns'], ['y'])
    .output('y', 'FP32', ['N', 1])
    .encode();
  const server = await serve(t, {
    m: onnx(model, {
      ...raggedRows,
      outputs: [{ name: 'y', dims: [1] }],
      batching: together(3),
      more: made('BATCH_ELEMENT_COUNT', 'n', 'x'),
    }),
  });
  const [first, second] = askRows(server, 'm', [
    [1, 5],
    [2, 3],
  ]);
  assert.ok(first && second);
  const failed = rejection(second);
  assert.deepEqual(floats(await first), [5]);
  const { code, message } = await failed;
  assert.equal(code, 'UNSUPPORTED');
  assert.match(
    message,
    /model 'm': output 'y': failed to split the output tensor: request 1 of the batch gets \[2,1\]/,
  );
  // Requests of one row are answered all.
  const rows = await Promise.all(
    askRows(server, 'm', [
      [1, 1],
      [1, 2],
      [1, 3],
    ]),
  );
  assert.deepEqual(
    rows.map((result) => floats(result)),
    [[1], [2], [3]],
  );
});

test('only the ragged input may differ in a batch', async (t) => {
  const model = graph('two')
    .input('x', 'FP32', ['T'])
    .input('z', 'FP32', ['N', 'D'])
    .node('Identity', ['z'], ['y'])
    .output('y', 'FP32', ['N', 'D'])
    .encode();
  const server = await serve(t, {
    m: onnx(model, { ...raggedRows, inputs: [...raggedRows.inputs, { name: 'z', dims: [-1] }] }),
  });
  const widths = [2, 2, 3, 3, 3];
  const results = await Promise.all(
    widths.map((width, i) => server.infer('m', { x: new Float32Array(i + 1), z: new Float32Array(width) })),
  );
  assert.deepEqual(
    results.map(({ timings }) => timings.batchSize),
    [2, 2, 3, 3, 3],
  );
});

test('ragged strings follow each other', async (t) => {
  const model = graph('words')
    .input('x', 'BYTES', ['T'])
    .input('n', 'INT32', ['N'])
    .initializer('columns', 'INT64', [2], [-1, 1])
    .initializer('zero', 'INT64', [1], [0])
    .node('Shape', ['x'], ['all'])
    .node('Cast', ['n'], ['long'], { to: 7 })
    .node('Mul', ['long', 'zero'], ['none'])
    .node('Add', ['none', 'all'], ['words'])
    .node('Reshape', ['words', 'columns'], ['y'])
    .output('y', 'INT64', ['N', 1])
    .encode();
  const server = await serve(t, {
    m: onnx(model, {
      inputs: [{ name: 'x', datatype: 'BYTES', dims: [-1], ragged: true }],
      outputs: [{ name: 'y', datatype: 'INT64', dims: [1] }],
      batching: together(2),
      more: made('BATCH_ELEMENT_COUNT', 'n', 'x'),
    }),
  });
  const results = await Promise.all([
    server.infer('m', { x: ['one', 'two', 'three'] }),
    server.infer('m', { x: [''] }),
  ]);
  assert.deepEqual(
    results.map(({ outputs }) => outputs['y']?.toArray()),
    [[[4n]], [[4n]]],
  );
});

/** What models get that take each request by itself: lengths 2, 1 and 3 in one batch. */
async function askApart(server: InferenceServer): Promise<void> {
  const results = await Promise.all(
    [2, 1, 3].map((length) => server.infer('m', { x: new Float32Array(length).fill(1) })),
  );
  assert.deepEqual(
    results.map((result) => floats(result)),
    [[2], [1], [3]],
  );
  assert.deepEqual(
    results.map(({ timings }) => timings.batchSize),
    [3, 3, 3],
  );
  const notes = server.model('m').notes.filter((note) => note.startsWith('batch_input'));
  assert.equal(notes.length, 1);
  assert.match(notes[0] ?? '', /accepted, without effect here/);
}

const apart = {
  ...raggedRows,
  outputs: [{ name: 'y', dims: [1] }],
  batching: together(3),
  more: made('BATCH_ELEMENT_COUNT', 'n', 'x'),
};

test('a model in JavaScript gets each request of a ragged batch with its own tensor', async (t) => {
  const body =
    'return requests.map(({ inputs: { x } }) => ({ y: [[x.shape[1] === x.data.length ? x.data.length : -1]] }));';
  await askApart(await serve(t, { m: script(executing(body), apart) }));
});

test('a model in Python gets each request of a ragged batch with its own tensor', { skip }, async (t) => {
  const body = `def execute(self, requests):
    import numpy
    return [answer(array(request).sum(axis=1, keepdims=True).astype(numpy.float32)) for request in requests]`;
  await askApart(await serving(t, { m: python(body, apart) }));
});
