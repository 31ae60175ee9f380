import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { InferResult, Model } from '../../src/index.js';
import { graph } from '../support/onnx/graph.js';
import { addModel, detectionModel, identityModel, slowModel } from '../support/models.js';
import { onnxRuntime } from '../support/onnx/run.js';
import { temporaryFolder } from '../support/repository.js';
import { onnx, rejection, row, serve, type ConfigOptions } from '../support/harness.js';

const tensors: ConfigOptions = {
  inputs: [{ name: 'x', dims: [3] }],
  outputs: [{ name: 'dets', datatype: 'INT64', dims: [2] }],
};

/** The detector's output for one row. */
function places(result: InferResult): unknown {
  return result.outputs['dets']?.toArray();
}

/** Two concurrent callers of a detector, which finds two things for one caller, and none for the other. */
async function twoCallers(model: Model): Promise<unknown[]> {
  const ask = (values: readonly number[]): Promise<InferResult> =>
    model.infer({ x: { data: Float32Array.from(values), shape: [1, 3] } });
  return (await Promise.all([ask([5, 0, 5]), ask([0, 0, 0])])).map(places);
}

for (const [what, file] of [
  ['other rows than its input', detectionModel()],
  ['rows that are called as those of its input, in spite of its operators', detectionModel('batch')],
] as const) {
  test(`callers of a model whose output has ${what} get their own rows`, async (t) => {
    const server = await serve(t, { m: { versions: { '1': file } } });
    const model = server.model('m');
    const [found, none] = await twoCallers(model);
    assert.deepEqual(found, [
      [0n, 0n],
      [0n, 2n],
    ]);
    assert.deepEqual(none, []);
    assert.equal(model.config.max_batch_size, 0);
    assert.equal(model.config.dynamic_batching, undefined);
    assert.deepEqual(model.config.input[0]?.dims, [-1, 3]);
  });
}

test('a model that is not batched because of its dims has a note with the output, its dims and the remedy', async (t) => {
  const server = await serve(t, { m: { versions: { '1': detectionModel() } } });
  assert.equal(
    server.model('m').notes[0],
    'max_batch_size: completed to 0, because the first dimension of output "dets", [num_dets,2], is not that of input "x", ' +
      '[batch,3]; so it is not known that outputs have a row for each row of the inputs. ' +
      'If they have, write max_batch_size: 64, say, in config.pbtxt, and the model is batched',
  );
});

test('a model that is not batched because of an operator, also one in a nested graph, has a note that names it', async (t) => {
  const files = { detection: detectionModel('batch'), slow: slowModel(1) };
  const server = await serve(t, {
    detection: { versions: { '1': files.detection } },
    slow: { versions: { '1': files.slow } },
  });
  for (const [name, operator] of [
    ['detection', 'NonZero'],
    ['slow', 'Loop'],
  ] as const) {
    const { notes, config } = server.model(name);
    assert.match(
      notes[0] ?? '',
      new RegExp(`^max_batch_size: completed to 0, because the model has the operator ${operator}; so`),
    );
    assert.equal(config.max_batch_size, 0);
  }
});

test('a model whose file has no name for its rows, or two, is not batched by completion', async (t) => {
  const two = graph('two')
    .input('a', 'FP32', ['A', 2])
    .input('b', 'FP32', ['B', 2])
    .node('Add', ['a', 'b'], ['y'])
    .output('y', 'FP32', ['A', 2])
    .encode();
  const models = { nameless: identityModel('FP32', ['', 2]), two };
  const server = await serve(
    t,
    Object.fromEntries(Object.entries(models).map(([name, file]) => [name, { versions: { '1': file } }])),
  );
  assert.match(
    server.model('nameless').notes[0] ?? '',
    /completed to 0, because the first dimension of input "x", \[-1,2\], has no name in the model's file/,
  );
  assert.match(
    server.model('two').notes[0] ?? '',
    /completed to 0, because the first dimension of input "b", \[B,2\], is not that of input "a", \[A,2\]/,
  );
});

test('a written max_batch_size batches all the same, with a warning', async (t) => {
  const server = await serve(t, {
    both: onnx(detectionModel(), { ...tensors, maxBatchSize: 8 }),
    part: { config: 'max_batch_size: 8', versions: { '1': detectionModel('batch') } },
    single: onnx(detectionModel(), { ...tensors, maxBatchSize: 8, batching: false }),
    fine: onnx(addModel()),
  });
  const dims = 'the first dimension of output "dets", [num_dets,2], is not that of input "x", [batch,3]';
  const doubt = 'so it is not known that outputs have a row for each row of the inputs. If they have not';
  const remedy = 'write max_batch_size: 0 and whole shapes as dims';
  const together = "requests that run together may be answered with each other's rows";
  const warnings = ['both', 'part', 'single', 'fine'].map((name) =>
    server.model(name).notes.filter((note) => note.startsWith('max_batch_size')),
  );
  assert.deepEqual(warnings, [
    [`max_batch_size: is 8, but ${dims}; ${doubt}, ${together}: ${remedy}`],
    [`max_batch_size: is 8, but the model has the operator NonZero; ${doubt}, ${together}: ${remedy}`],
    [`max_batch_size: is 8, but ${dims}; ${doubt}, requests fail: ${remedy}`],
    [],
  ]);
  assert.equal(server.model('part').config.max_batch_size, 8);
  assert.notEqual(server.model('part').config.dynamic_batching, undefined);
  // As configured: of two rows for two requests, each request gets one.
  assert.deepEqual(await twoCallers(server.model('both')), [[[0n, 0n]], [[0n, 2n]]]);
});

test('a request that runs alone and gets other rows than it has fails with the remedy', async (t) => {
  const server = await serve(t, { m: onnx(detectionModel(), { ...tensors, maxBatchSize: 8 }) });
  for (const x of [
    [5, 5, 0],
    [0, 0, 0],
  ]) {
    const error = await rejection(server.infer('m', { x: [x] }));
    assert.equal(error.code, 'INTERNAL');
    assert.match(
      error.message,
      /model 'm': output 'dets': expected 1 row, as the batch has, but the model returned [02]: .*Write max_batch_size: 0 /,
    );
  }
  assert.deepEqual(places(await server.infer('m', { x: [[0, 5, 0]] })), [[0n, 1n]]);
});

test('a written max_batch_size: 0 stays, for a model that could be batched too', async (t) => {
  const server = await serve(t, {
    m: { config: 'max_batch_size: 0', versions: { '1': addModel() } },
  });
  const { config, notes } = server.model('m');
  assert.equal(config.max_batch_size, 0);
  assert.deepEqual(config.input[0]?.dims, [-1, 16]);
  assert.deepEqual(
    notes.filter((note) => note.startsWith('max_batch_size')),
    [],
  );
  const { outputs } = await server.infer('m', { x: { data: row(0, 32), shape: [2, 16] } });
  assert.deepEqual(outputs['y']?.shape, [2, 16]);
});

test('where dims were written for a batch that completion does not make, the error says so', async (t) => {
  const config = 'input [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } ]';
  const error = await rejection(serve(t, { m: { config, versions: { '1': detectionModel() } } }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /input\[0\]\.dims: .*Expected dims: \[ -1, 3 \]/);
  assert.match(error.message, /max_batch_size: completed to 0, because .*"dets", \[num_dets,2\]/);
});

test('a model that is given as bytes is scanned, too', async (t) => {
  const server = await serve(t, { m: { versions: { '1': addModel() } } }, { modelControlMode: 'explicit' });
  await server.loadModel('m', {
    config: { backend: 'onnxruntime' },
    files: { '1/model.onnx': detectionModel('batch') },
  });
  assert.match(server.model('m').notes[0] ?? '', /^max_batch_size: completed to 0, .*operator NonZero/);
});

test("a file in ONNX Runtime's own format is not batched by completion, and does not run inline", async (t) => {
  const file = join(await temporaryFolder(t), 'model.ort');
  const options = { optimizedModelFilePath: file, logSeverityLevel: 4 } as const;
  await (await onnxRuntime().InferenceSession.create(addModel(), options)).release();
  const bytes = await readFile(file).catch(() => undefined);
  if (bytes === undefined) {
    t.skip('this onnxruntime-node writes no such files');
    return;
  }
  const config = 'backend: "onnxruntime" default_model_filename: "model.ort"';
  const server = await serve(t, { m: { config, versions: { '1': { 'model.ort': bytes } } } });
  const model = server.model('m');
  assert.match(model.notes[0] ?? '', /^max_batch_size: completed to 0, because .*\(\.ort\), whose operators/);
  assert.match(model.runtimeInfo().neverInline ?? '', /\(\.ort\)/);
  const { outputs } = await model.infer({ x: { data: row(0), shape: [1, 16] } });
  assert.equal(outputs['y']?.data[15], 16);
});
