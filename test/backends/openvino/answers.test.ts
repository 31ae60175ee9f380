/** Every model of the fixtures answers as OpenVINO's own Python does. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchCountsAfter, rejection, serve } from '../../support/harness.js';
import type { RepositoryModel } from '../../support/repository.js';
import {
  asInput,
  asked,
  assertAnswers,
  completed,
  filesOf,
  needsOpenVino,
  openvino,
  recordedModel,
  recordedModels,
  rowOf,
} from './models.js';

/** Models whose outputs have no row for each row of an input, or whose files have a fixed first dimension. */
const unbatched: readonly string[] = ['fixed', 'nonzero', 'scalar', 'image', 'total', 'rigid'];

const backendConfig = { openvino: { 'default-max-batch-size': 64 } };

/** Models with five rows in their requests that are batched. */
const byRows = recordedModels.filter(
  ({ name, inputs }) =>
    !unbatched.includes(name) && Object.values(inputs).every(({ shape }) => shape[0] === 5),
);

async function repositoryOf(
  models: typeof recordedModels,
  write: (model: (typeof recordedModels)[number]) => Promise<RepositoryModel>,
): Promise<Record<string, RepositoryModel>> {
  return Object.fromEntries(
    await Promise.all(models.map(async (model) => [model.name, await write(model)] as const)),
  );
}

test(
  'each model answers as OpenVINO does, without inputs and outputs in its configuration',
  needsOpenVino,
  async (t) => {
    const server = await serve(t, await repositoryOf(recordedModels, completed), { backendConfig });
    for (const model of recordedModels) {
      const { config } = server.model(model.name);
      const size = unbatched.includes(model.name) ? 0 : 64;
      assert.deepEqual([config.backend, config.max_batch_size], ['openvino', size], model.name);
      for (let round = 0; round < 3; round++)
        assertAnswers(await server.infer(model.name, asked(model)), model.outputs, model.name);
    }
  },
);

test(
  'each datatype is served in batches: a whole one, and rows that the server puts together',
  needsOpenVino,
  async (t) => {
    assert.ok(byRows.length >= 15);
    const server = await serve(
      t,
      await repositoryOf(byRows, (model) => openvino(model, { parameters: { inline: 'off' } })),
    );
    for (const model of byRows) {
      assertAnswers(await server.infer(model.name, asked(model)), model.outputs, model.name);
      const alone = await Promise.all(
        Array.from({ length: 5 }, (_, row) =>
          server.infer(
            model.name,
            Object.fromEntries(
              Object.entries(model.inputs).map(([name, tensor]) => [name, asInput(rowOf(tensor, row))]),
            ),
          ),
        ),
      );
      alone.forEach((result, row) => {
        const outputs = Object.fromEntries(
          Object.entries(model.outputs).map(([name, tensor]) => [name, rowOf(tensor, row)]),
        );
        assertAnswers(result, outputs, `${model.name}, row ${row}`);
      });
      const counts = await batchCountsAfter(server, model.name, 6);
      assert.ok(Object.values(counts).reduce((sum, count) => sum + count, 0) < 6, JSON.stringify(counts));
    }
  },
);

test('a model whose file has a fixed first dimension takes batches of any size', needsOpenVino, async (t) => {
  const { outputs } = recordedModel('perceptron');
  const many = { ...recordedModel('perceptron'), file: 'fixed.xml' };
  const server = await serve(t, {
    m: await openvino(many),
    padded: await openvino(many, { maxBatchSize: 8, parameters: { ENABLE_BATCH_PADDING: 'YES' } }),
  });
  for (const name of ['m', 'padded']) assertAnswers(await server.infer(name, asked(many)), outputs, name);
});

test('a model whose outputs do not follow the rows is not batched', needsOpenVino, async (t) => {
  for (const name of ['total', 'scalar', 'rigid']) {
    const model = await openvino(recordedModel(name), { maxBatchSize: 3 });
    const error = await rejection(serve(t, { m: model }));
    assert.equal(error.code, 'INVALID_ARG', name);
    assert.match(error.message, /output/, name);
  }
});

test(
  'ENABLE_BATCH_PADDING fills the batches of a model that takes only full ones',
  needsOpenVino,
  async (t) => {
    const rigid = recordedModel('rigid');
    const parameters = { ENABLE_BATCH_PADDING: 'YES', inline: 'off' };
    const server = await serve(t, { m: await openvino(rigid, { maxBatchSize: 3, parameters }) });
    assertAnswers(await server.infer('m', asked(rigid)), rigid.outputs, 'three rows');
    const { x, y } = { ...rigid.inputs, ...rigid.outputs };
    assert.ok(x && y);
    for (const row of [2, 0, 1])
      assertAnswers(
        await server.infer('m', { x: asInput(rowOf(x, row)) }),
        { y: rowOf(y, row) },
        `row ${row}`,
      );
  },
);

test('RESHAPE_IO_LAYERS gives the model the dims of the configuration', needsOpenVino, async (t) => {
  const image = recordedModel('image');
  const tensors = {
    inputs: [{ name: 'x', dims: [3, 2, 4] }],
    outputs: [{ name: 'y', dims: [3, 1, 1] }],
  };
  const server = await serve(t, {
    m: await openvino(image, { ...tensors, parameters: { RESHAPE_IO_LAYERS: 'yes' } }),
  });
  const data = Array.from({ length: 48 }, (_, i) => Math.floor(i / 8));
  const { outputs } = await server.infer('m', { x: { data, shape: [2, 3, 2, 4] } });
  assert.deepEqual(outputs['y']?.toArray(), [
    [[[0]], [[1]], [[2]]],
    [[[3]], [[4]], [[5]]],
  ]);
  const error = await rejection(serve(t, { m: await openvino(image, tensors) }));
  assert.match(error.message, /input\[0\]\.dims/);
});

test('a model is given as bytes, with its weights', needsOpenVino, async (t) => {
  const model = recordedModel('perceptron');
  const server = await serve(t, {}, { modelControlMode: 'explicit', backendConfig });
  await server.loadModel('given', { config: { backend: 'openvino' }, files: await bytesOf(model.file) });
  assertAnswers(await server.infer('given', asked(model)), model.outputs, 'given');
});

async function bytesOf(file: string): Promise<Record<string, Uint8Array>> {
  const files = await filesOf(file);
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [name, Buffer.from(content)]));
}
