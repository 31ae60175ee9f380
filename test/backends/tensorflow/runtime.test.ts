/** SavedModels that OpenVINO runs, without TensorFlow: the parameter `runtime`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rejection, serve } from '../../support/harness.js';
import { needsOpenVino } from '../openvino/models.js';
import {
  asked,
  assertAnswers,
  filesOf,
  parameter,
  recordedModel,
  tensorflow,
  type TensorFlowOptions,
} from './models.js';

const runtime = 'openvino';

/** A configuration that the server must not use TensorFlow for. */
const backendConfig = { tensorflow: { library: '/nowhere/libtensorflow.so.2' } };

test('OpenVINO gives the answers of TensorFlow', needsOpenVino, async (t) => {
  const names = ['double_FP32', 'double_INT32', 'perceptron', 'two_inputs', 'signatures'];
  const parameters: TensorFlowOptions['parameters'] = { runtime, PERFORMANCE_HINT: 'THROUGHPUT' };
  const models = await Promise.all(
    names.map(async (name) => [name, await tensorflow(recordedModel(name), { parameters })] as const),
  );
  const server = await serve(t, Object.fromEntries(models), { backendConfig });
  for (const name of names) {
    const model = recordedModel(name);
    assertAnswers(await server.infer(name, asked(model)), model.outputs, name);
    assert.match(server.model(name).runtimeInfo().library?.path ?? '', /openvino_c/);
    assert.equal(server.model(name).config.backend, 'tensorflow');
    assert.deepEqual(server.model(name).notes, [], name);
  }
});

test('what is not written is completed as for OpenVINO: without batches', needsOpenVino, async (t) => {
  const model = recordedModel('perceptron');
  const config = parameter('runtime', runtime);
  const server = await serve(
    t,
    { m: { config, versions: { '1': await filesOf(model.file) } } },
    { backendConfig },
  );
  assert.equal(server.model('m').config.max_batch_size, 0);
  assertAnswers(await server.infer('m', asked(model)), model.outputs, 'm');
});

test('the options are those of OpenVINO, and errors name them so', needsOpenVino, async (t) => {
  const model = await tensorflow(recordedModel('perceptron'), { parameters: { runtime } });
  const error = await rejection(
    serve(t, { m: model }, { backendConfig: { ...backendConfig, openvino: { NUM_STREAMS: 'many' } } }),
  );
  assert.match(error.message, /backendConfig\.openvino\['NUM_STREAMS'\]/);
});

test('a model given as bytes is run by OpenVINO, too', needsOpenVino, async (t) => {
  const model = recordedModel('double_FP32');
  const server = await serve(t, {}, { modelControlMode: 'explicit', backendConfig });
  const files = Object.entries(await filesOf(model.file)).map(
    ([path, content]) => [path, Buffer.from(content)] as const,
  );
  const { config = '' } = await tensorflow(model, { parameters: { runtime } });
  await server.loadModel('m', {
    files: { ...Object.fromEntries(files), 'config.pbtxt': Buffer.from(config) },
  });
  assertAnswers(await server.infer('m', asked(model)), model.outputs, 'm');
});
