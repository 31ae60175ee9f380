/** What cannot be served, and what the messages say. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { rejection, serve, type ConfigOptions } from '../../support/harness.js';
import { temporaryFolder, type RepositoryModel } from '../../support/repository.js';
import {
  asked,
  assertAnswers,
  completed,
  filesOf,
  needsTensorFlow,
  parameter,
  recordedModel,
  tensorflow,
} from './models.js';

const perceptron = recordedModel('perceptron');
const graphFile = 'model.savedmodel/saved_model.pb';

/** Files of the perceptron, with others in place of some. */
async function withFiles(files: Readonly<Record<string, string | Uint8Array>>): Promise<RepositoryModel> {
  const { config = '', versions = {} } = await tensorflow(perceptron);
  return { config, versions: { '1': { ...(versions['1'] as Record<string, Uint8Array>), ...files } } };
}

test('files that are no model fail their load, and no other model', needsTensorFlow, async (t) => {
  const whole = Buffer.from((await filesOf(perceptron.file))[graphFile] ?? '');
  const pointer =
    'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n';
  const plusOne = await tensorflow(recordedModel('plus_one'));
  const graph = (content: string | Uint8Array): RepositoryModel => ({
    ...plusOne,
    versions: { '1': { 'model.graphdef': content } },
  });
  const models = {
    good: await tensorflow(perceptron),
    text: await withFiles({ [graphFile]: 'no model at all' }),
    empty: await withFiles({ [graphFile]: '' }),
    cut: await withFiles({ [graphFile]: whole.subarray(0, whole.length / 2) }),
    pointer: await withFiles({ [graphFile]: pointer }),
    weights: await withFiles({ 'model.savedmodel/variables/variables.index': new Uint8Array(3) }),
    graph_text: graph('no graph at all'),
    graph_cut: graph(
      Buffer.from((await filesOf('plus_one.graphdef'))['model.graphdef'] ?? '').subarray(0, 90),
    ),
    graph_page: graph('<!doctype html><html></html>'),
  };
  const server = await serve(t, models, { exitOnError: false });
  assertAnswers(await server.infer('good', asked(perceptron)), perceptron.outputs, 'good');
  const reasons = Object.fromEntries(server.index().map(({ name, reason = '' }) => [name, reason]));
  for (const name of Object.keys(models).filter((one) => one !== 'good'))
    assert.match(reasons[name] ?? '', new RegExp(`model '${name}'`), name);
  assert.match(reasons['pointer'] ?? '', /saved_model\.pb' is a Git LFS pointer/);
  assert.match(reasons['empty'] ?? '', /saved_model\.pb' is empty/);
  assert.match(reasons['graph_page'] ?? '', /is a web page/);
});

test('a SavedModel outside of its folder is named with a remedy', needsTensorFlow, async (t) => {
  const { config = '', versions = {} } = await tensorflow(perceptron);
  const files = Object.entries(versions['1'] ?? {}) as [string, Uint8Array][];
  const moved = files.map(([name, content]) => [name.replace('model.savedmodel/', ''), content]);
  const version = Object.fromEntries(moved) as Record<string, Uint8Array>;
  const written = await rejection(serve(t, { m: { config, versions: { '1': version } } }));
  assert.match(written.message, /Make the folder model\.savedmodel, and move saved_model\.pb/);
  const bare = await rejection(serve(t, { m: { versions: { '1': version } } }));
  assert.match(
    bare.message,
    /saved_model\.pb is a part of a SavedModel .* make the folder model\.savedmodel/,
  );
});

test('a configuration that differs from the model says how', needsTensorFlow, async (t) => {
  const tensor = { inputs: [{ name: 'x', dims: [4] }], outputs: [{ name: 'y', dims: [3] }] };
  const cases: readonly (readonly [ConfigOptions, RegExp])[] = [
    [
      { ...tensor, inputs: [{ name: 'x', dims: [5] }] },
      /input\[0\]\.dims: the model's input "x" has shape \[-1,4\]/,
    ],
    [{ ...tensor, inputs: [{ name: 'z', dims: [4] }] }, /the model has no input "z"; its inputs are x/],
    [{ ...tensor, outputs: [{ name: 'y', dims: [4] }] }, /output\[0\]\.dims/],
    [{ ...tensor, outputs: [{ name: 'q', dims: [3] }] }, /the model has no output "q"; its outputs are y/],
    [{ ...tensor, inputs: [{ name: 'x', dims: [4], datatype: 'INT64' }] }, /input\[0\]\.data_type/],
  ];
  for (const [options, message] of cases) {
    const { backend: _, ...rest } = options;
    const error = await rejection(serve(t, { m: await tensorflow(perceptron, rest) }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, message);
  }
});

test('a model with a fixed first dimension is not batched', needsTensorFlow, async (t) => {
  const fixed = recordedModel('fixed');
  const error = await rejection(serve(t, { m: await tensorflow(fixed, { maxBatchSize: 3 }) }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /max_batch_size.* whose first dimension is fixed to 3/);
});

test('a type that Triton does not have is refused', needsTensorFlow, async (t) => {
  const error = await rejection(serve(t, { m: await completed({ file: 'complex.savedmodel' }) }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /"x" is of type .*complex64/i);
});

test(
  'a tag, a signature and operations that are not there are named with their lines',
  needsTensorFlow,
  async (t) => {
    const start = { 'start.json': '{"init_ops": ["no_such_operation"]}' };
    for (const [key, value, words, files] of [
      ['TF_GRAPH_TAG', 'train', /'train'/, {}],
      ['TF_SIGNATURE_DEF', 'othr', /'othr'.*serving_default/, {}],
      ['TF_INIT_OPS_FILE', 'start.json', /no_such_operation/, start],
    ] as const) {
      const model = await completed(recordedModel('signatures'), `\n\n${parameter(key, value)}`);
      const error = await rejection(serve(t, { m: { ...model, files } }));
      assert.match(error.message, words);
      assert.ok(error.message.includes(`config.pbtxt:3: parameters["${key}"]`), error.message);
    }
  },
);

test('a request with other dims is refused', needsTensorFlow, async (t) => {
  const server = await serve(t, { m: await tensorflow(perceptron) });
  const error = await rejection(server.infer('m', { x: { data: new Float32Array(5), shape: [1, 5] } }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /'x'/);
});

test('an output of a GraphDef that is not there is named', needsTensorFlow, async (t) => {
  const model = recordedModel('plus_one');
  for (const name of ['nothing', 'y:7', 'x:y:z']) {
    const outputs = [{ name, dims: [4] }];
    const error = await rejection(serve(t, { m: await tensorflow(model, { outputs }) }));
    assert.equal(error.code, 'INVALID_ARG', error.message);
    assert.ok(error.message.includes(name), error.message);
  }
});

test('a library that is not there makes the model UNAVAILABLE, and the message names it', async (t) => {
  const library = join(await temporaryFolder(t), 'libtensorflow_cc.so.2');
  const error = await rejection(
    serve(t, { m: await tensorflow(perceptron) }, { backendConfig: { tensorflow: { library } } }),
  );
  assert.equal(error.code, 'UNAVAILABLE');
  assert.equal(error.reason, 'MISSING');
  assert.ok(error.message.includes(library), error.message);
});

test('an instance on a GPU is refused', async (t) => {
  const { config = '', versions = {} } = await tensorflow(perceptron);
  const error = await rejection(
    serve(t, { m: { config: config.replace('KIND_CPU', 'KIND_GPU'), versions } }),
  );
  assert.match(error.message, /instance_group\[0\]\.kind/);
});

test('other runtimes than openvino, and other models for it, are refused', async (t) => {
  for (const [model, value, words] of [
    [perceptron, 'onnxruntime', /expected openvino, or no such parameter, but found "onnxruntime"/],
    [
      recordedModel('plus_one'),
      'openvino',
      /runs models of platform tensorflow_savedmodel, not "tensorflow_graphdef"/,
    ],
  ] as const) {
    const error = await rejection(
      serve(t, { m: await tensorflow(model, { parameters: { runtime: value } }) }),
    );
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, words);
    assert.match(error.message, /parameters\["runtime"\]/);
  }
});
