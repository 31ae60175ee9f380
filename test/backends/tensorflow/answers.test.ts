/** Every model of the fixtures answers as TensorFlow's own Python does. */

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
  needsTensorFlow,
  parameter,
  recordedModel,
  recordedModels,
  rowOf,
  tensorflow,
  type RecordedModel,
} from './models.js';

/** Models whose first dimensions are not all variable, or whose answers have other rows than the request. */
const unbatched: readonly string[] = ['scalar', 'fixed', 'same', 'where', 'state'];

/** Models that need more than their files: a tag, dims, or an operation that runs first. */
const special: readonly string[] = [
  ...['unranked', 'init_ops', 'filter', 'where', 'two_sinks', 'state'],
  // Their tensors have one dimension, the batch.
  ...['rows', 'lookup'],
];

const plain = recordedModels.filter(({ name }) => !special.includes(name));

/** Models whose rows may be put together with those of other requests. */
const byRows = plain.filter(({ name }) => !unbatched.includes(name));

/** All values of an output. */
function valuesOf(tensor: { toArray(): unknown } | undefined): unknown[] {
  assert.ok(tensor);
  return (tensor.toArray() as unknown[]).flat(10);
}

async function repositoryOf(
  models: readonly RecordedModel[],
  write: (model: RecordedModel) => Promise<RepositoryModel>,
): Promise<Record<string, RepositoryModel>> {
  return Object.fromEntries(
    await Promise.all(models.map(async (model) => [model.name, await write(model)] as const)),
  );
}

test('each model answers as TensorFlow does, without a configuration', needsTensorFlow, async (t) => {
  const backendConfig = { tensorflow: { 'default-max-batch-size': 64 } };
  const server = await serve(t, await repositoryOf(plain, completed), { backendConfig });
  for (const model of plain) {
    const { config } = server.model(model.name);
    const size = unbatched.includes(model.name) ? 0 : 64;
    assert.deepEqual([config.backend, config.max_batch_size], ['tensorflow', size], model.name);
    assert.equal(config.dynamic_batching !== undefined, size > 0, model.name);
    for (let round = 0; round < 3; round++)
      assertAnswers(await server.infer(model.name, asked(model)), model.outputs, model.name);
  }
});

test(
  'each datatype is served in batches: a whole one, and rows that the server puts together',
  needsTensorFlow,
  async (t) => {
    assert.ok(byRows.length >= 18);
    const server = await serve(
      t,
      await repositoryOf(byRows, (model) => tensorflow(model, { parameters: { inline: 'off' } })),
    );
    for (const model of byRows) {
      assertAnswers(await server.infer(model.name, asked(model)), model.outputs, model.name);
      const rows = Object.values(model.inputs)[0]?.shape[0] ?? 0;
      const alone = await Promise.all(
        Array.from({ length: rows }, (_, row) =>
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
      const counts = await batchCountsAfter(server, model.name, rows + 1);
      assert.ok(
        Object.values(counts).reduce((sum, count) => sum + count, 0) < rows + 1,
        JSON.stringify(counts),
      );
    }
  },
);

test('strings of any content and length come back as they were', needsTensorFlow, async (t) => {
  const server = await serve(t, { m: await tensorflow(recordedModel('text'), { maxBatchSize: 1024 }) });
  const texts = Array.from({ length: 600 }, (_, i) => Buffer.alloc(i * 7, i % 256));
  for (let round = 0; round < 3; round++) {
    const { outputs } = await server.infer('m', { x: { data: texts, shape: [300, 2] } });
    assert.deepEqual(valuesOf(outputs['same']), texts);
    assert.deepEqual(
      valuesOf(outputs['size']),
      texts.map((text) => text.length),
    );
  }
});

test('an answer may have other rows than its request, without batches', needsTensorFlow, async (t) => {
  const model = recordedModel('where');
  const where = await tensorflow(model, {
    ...{ maxBatchSize: 0, inputs: [{ name: 'x', dims: [-1] }] },
    outputs: [{ name: 'y', datatype: 'INT64', dims: [-1, 1] }],
  });
  const server = await serve(t, { where });
  assertAnswers(await server.infer('where', asked(model)), model.outputs, 'where');
});

test('with batches, an answer with other rows than its batch is an error', needsTensorFlow, async (t) => {
  const model = recordedModel('filter');
  const server = await serve(t, { m: await tensorflow(model) });
  const error = await rejection(server.infer('m', asked(model)));
  assert.match(error.message, /'y'/);
});

test('tensors with the batch and no other dimension have dims [1]', needsTensorFlow, async (t) => {
  const names = ['rows', 'lookup'];
  const server = await serve(t, await repositoryOf(names.map(recordedModel), completed));
  const withOne = (side: RecordedModel['inputs']): RecordedModel['inputs'] =>
    Object.fromEntries(
      Object.entries(side).map(([name, tensor]) => [name, { ...tensor, shape: [...tensor.shape, 1] }]),
    );
  for (const name of names) {
    const { inputs, outputs } = recordedModel(name);
    const answer = await server.infer(name, asked({ inputs: withOne(inputs) }));
    assertAnswers(answer, withOne(outputs), name);
    const [input] = server.model(name).config.input;
    assert.deepEqual([input?.dims, input?.reshape?.shape], [[1], []]);
  }
});

test('a tensor of unknown rank has the dims of the configuration', needsTensorFlow, async (t) => {
  const model = recordedModel('unranked');
  const server = await serve(t, { m: await tensorflow(model) });
  assertAnswers(await server.infer('m', asked(model)), model.outputs, 'm');
  const error = await rejection(serve(t, { m: await completed(model) }));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /does not say how many dimensions its input "x" has/);
});

test('a signature and a tag are chosen', needsTensorFlow, async (t) => {
  const server = await serve(t, {
    other: await completed(recordedModel('signatures'), parameter('TF_SIGNATURE_DEF', 'other')),
    found: await completed({ file: 'only_other.savedmodel' }),
    tagged: await completed(recordedModel('tags'), parameter('TF_GRAPH_TAG', 'plus_hundred')),
  });
  for (const name of ['other', 'found']) {
    const { outputs } = await server.infer(name, { z: { data: [1, 2], shape: [2, 1] } });
    assert.deepEqual(valuesOf(outputs['w']), [10, 20], name);
  }
  const { outputs } = await server.infer('tagged', { x: new Float32Array(4) });
  assert.deepEqual(outputs['y']?.toArray(), [[100, 100, 100, 100]]);
});

test('operations that TF_INIT_OPS_FILE names run before the first request', needsTensorFlow, async (t) => {
  const model = recordedModel('init_ops');
  const more = parameter('TF_INIT_OPS_FILE', 'start.json');
  const { config = '', versions = {} } = await tensorflow(model, { more });
  const files = { 'start.json': '{"init_ops": ["start"]}' };
  const server = await serve(t, {
    beside: { config, versions, files },
    inside: { config, versions: { '1': { ...(versions['1'] as Record<string, Uint8Array>), ...files } } },
    without: await tensorflow(model),
  });
  for (const name of ['beside', 'inside'])
    assertAnswers(await server.infer(name, asked(model)), model.outputs, name);
  const error = await rejection(server.infer('without', asked(model)));
  assert.match(error.message, /late/);
});

test('a GraphDef has the outputs that its configuration names', needsTensorFlow, async (t) => {
  const model = recordedModel('two_sinks');
  const server = await serve(t, { m: await tensorflow(model), all: await completed(model) });
  assertAnswers(await server.infer('m', asked(model)), model.outputs, 'm');
  assert.deepEqual(
    server
      .model('m')
      .config.output.map(({ name }) => name)
      .sort(),
    ['doubled', 'halves:1', 'middle'],
  );
  assert.ok(server.model('all').config.output.some(({ name }) => name === 'doubled'));
});

test('a model is given as bytes', needsTensorFlow, async (t) => {
  const server = await serve(t, {}, { modelControlMode: 'explicit' });
  for (const name of ['perceptron', 'plus_one']) {
    const model = recordedModel(name);
    const files = Object.entries(await filesOf(model.file)).map(
      ([path, content]) => [path, Buffer.from(content)] as const,
    );
    await server.loadModel(name, { config: {}, files: Object.fromEntries(files) });
    assertAnswers(
      await server.infer(name, { x: asInput(rowOf(firstInput(model), 0)) }),
      firstRow(model),
      name,
    );
  }
});

function firstInput(model: RecordedModel): Parameters<typeof rowOf>[0] {
  const [tensor] = Object.values(model.inputs);
  assert.ok(tensor);
  return tensor;
}

function firstRow(model: RecordedModel): RecordedModel['outputs'] {
  return Object.fromEntries(Object.entries(model.outputs).map(([name, tensor]) => [name, rowOf(tensor, 0)]));
}
