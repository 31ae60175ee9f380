/** Weights that an ONNX model has in another file. */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { floats, rejection, serve } from '../../support/harness.js';
import { graph, type ExternalModel } from '../../support/onnx/graph.js';
import { temporaryFolder } from '../../support/repository.js';
import { needsOpenVino } from './models.js';

const config = 'backend: "openvino" default_model_filename: "model.onnx"';

/** A model y = x + 0, 1, 2, 3, whose weights are in the file `location`. */
function external(location: string): ExternalModel {
  return graph('external')
    .input('x', 'FP32', ['N', 4])
    .initializer('w', 'FP32', [4], Float32Array.of(0, 1, 2, 3))
    .node('Add', ['x', 'w'], ['y'])
    .output('y', 'FP32', ['N', 4])
    .encodeExternal(location, 0);
}

test('weights beside the model are read', needsOpenVino, async (t) => {
  const { model, data } = external('weights.bin');
  const server = await serve(t, {
    m: { config, versions: { '1': { 'model.onnx': model, 'weights.bin': data } } },
  });
  assert.deepEqual(floats(await server.infer('m', { x: new Float32Array(4) })), [0, 1, 2, 3]);
});

test('weights outside of the folder of the file are not read', needsOpenVino, async (t) => {
  const folder = await temporaryFolder(t);
  const elsewhere = join(folder, 'elsewhere.bin');
  const { model, data } = external(elsewhere);
  await writeFile(elsewhere, data);
  await rejection(serve(t, { m: { config, versions: { '1': model } } }));
});

test('a model given as bytes reads no weights from the working directory', needsOpenVino, async (t) => {
  const folder = await temporaryFolder(t);
  const before = process.cwd();
  process.chdir(folder);
  t.after(() => {
    process.chdir(before);
  });
  const server = await serve(t, {}, { modelControlMode: 'explicit' });
  for (const location of ['elsewhere.bin', join(folder, 'elsewhere.bin')]) {
    const { model, data } = external(location);
    await writeFile('elsewhere.bin', data);
    await rejection(
      server.loadModel('m', {
        config: { backend: 'openvino', default_model_filename: 'model.onnx' },
        files: { 'model.onnx': model },
      }),
    );
  }
});
