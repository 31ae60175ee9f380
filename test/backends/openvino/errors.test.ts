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
  needsOpenVino,
  openvino,
  recordedModel,
} from './models.js';

const perceptron = recordedModel('perceptron');

/** Files of the perceptron, with others in place of some. */
async function withFiles(files: Readonly<Record<string, string | Uint8Array>>): Promise<RepositoryModel> {
  const { config = '', versions = {} } = await openvino(perceptron);
  return { config, versions: { '1': { ...(versions['1'] as Record<string, Uint8Array>), ...files } } };
}

test('a file that is no model fails its load, and no other model', needsOpenVino, async (t) => {
  const models = {
    good: await openvino(perceptron),
    text: await withFiles({ 'model.xml': 'no model at all' }),
    empty: await withFiles({ 'model.xml': '' }),
    cut: await withFiles({
      'model.xml': ((await filesOf('perceptron.xml'))['model.xml'] ?? '').slice(0, 900),
    }),
    page: await withFiles({ 'model.xml': '<!doctype html><html></html>' }),
    weights: await withFiles({ 'model.bin': new Uint8Array(3) }),
  };
  const server = await serve(t, models, { exitOnError: false });
  assertAnswers(await server.infer('good', asked(perceptron)), perceptron.outputs, 'good');
  const reasons = Object.fromEntries(server.index().map(({ name, reason = '' }) => [name, reason]));
  for (const name of ['text', 'cut', 'weights']) assert.match(reasons[name] ?? '', /model '.*'/, name);
  for (const name of Object.keys(models).filter((one) => one !== 'good')) {
    assert.notEqual(reasons[name], '', name);
    // A model of OpenVINO is XML, as many web pages are.
    assert.equal(/is a web page/.test(reasons[name] ?? ''), name === 'page', reasons[name]);
  }
  assert.match(reasons['empty'] ?? '', /is empty/);
});

test('a configuration that differs from the model says how', needsOpenVino, async (t) => {
  const tensor = { inputs: [{ name: 'x', dims: [4] }], outputs: [{ name: 'y', dims: [3] }] };
  const cases: readonly (readonly [ConfigOptions, RegExp])[] = [
    [
      { ...tensor, inputs: [{ name: 'x', dims: [5] }] },
      /input\[0\]\.dims: the model's input "x" has shape \[-1,4\]/,
    ],
    [{ ...tensor, inputs: [{ name: 'z', dims: [4] }] }, /the model has no input "z"; its inputs are x/],
    [{ ...tensor, outputs: [{ name: 'y', dims: [4] }] }, /output\[0\]\.dims/],
    [{ ...tensor, inputs: [{ name: 'x', dims: [4], datatype: 'INT64' }] }, /input\[0\]\.data_type/],
  ];
  for (const [options, message] of cases) {
    const { backend: _, ...rest } = options;
    const error = await rejection(serve(t, { m: await openvino(perceptron, rest) }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, message);
  }
});

test('a model with strings is refused', needsOpenVino, async (t) => {
  const error = await rejection(serve(t, { m: await completed({ file: 'text.onnx' }) }));
  assert.match(error.message, /"x"/);
});

test('a request with other dims is refused', needsOpenVino, async (t) => {
  const server = await serve(t, { m: await openvino(perceptron) });
  const error = await rejection(server.infer('m', { x: { data: new Float32Array(5), shape: [1, 5] } }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /'x'/);
});

test('a device that is not there fails the load, and the message names it', needsOpenVino, async (t) => {
  const error = await rejection(
    serve(t, { m: await openvino(perceptron, { parameters: { TARGET_DEVICE: 'nosuch' } }) }),
  );
  assert.match(error.message, /NOSUCH/);
  assert.match(error.message, /CPU/);
});

test(
  'an extension that is not there fails the load, with the line of the parameter',
  needsOpenVino,
  async (t) => {
    const model = await openvino(perceptron, { parameters: { CPU_EXTENSION_PATH: 'libnosuch.so' } });
    const error = await rejection(serve(t, { m: model }));
    assert.match(error.message, /libnosuch\.so/);
    assert.match(error.message, /CPU_EXTENSION_PATH/);
  },
);

test('a library that is not there makes the model UNAVAILABLE, and the message names it', async (t) => {
  const library = join(await temporaryFolder(t), 'libopenvino_c.so.1');
  const error = await rejection(
    serve(t, { m: await openvino(perceptron) }, { backendConfig: { openvino: { library } } }),
  );
  assert.equal(error.code, 'UNAVAILABLE');
  assert.equal(error.reason, 'MISSING');
  assert.ok(error.message.includes(library), error.message);
});

test('an instance on a GPU is refused', async (t) => {
  const { config = '', versions = {} } = await openvino(perceptron);
  const error = await rejection(
    serve(t, { m: { config: config.replace('KIND_CPU', 'KIND_GPU'), versions } }),
  );
  assert.match(error.message, /instance_group\[0\]\.kind/);
});
