import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createServer, type InferenceServer, TritonError } from '../../src/index.js';
import { addModel, externalDataModel, externalWeights } from '../support/models.js';
import { skipBefore } from '../support/runtime.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

async function explicit(t: TestContext): Promise<InferenceServer> {
  const folder = await writeRepository(await temporaryFolder(t), { add: { versions: { '1': addModel() } } });
  const server = await createServer(folder, { modelControlMode: 'explicit' });
  t.after(() => server.close());
  return server;
}

async function answer(server: InferenceServer, name: string): Promise<number | undefined> {
  const { outputs } = await server.infer(name, { x: new Float32Array(16) });
  return outputs['y']?.as('FP32').data[0];
}

async function refusal(promise: Promise<unknown>): Promise<TritonError> {
  const error = await promise.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof TritonError, String(error));
  return error;
}

test('a configuration given to loadModel takes the place of config.pbtxt', async (t) => {
  const server = await explicit(t);
  await server.loadModel('add', { config: { max_batch_size: 3 } });
  assert.equal(server.model('add').config.max_batch_size, 3);
  await server.loadModel('add', { config: '{ "max_batch_size": "5" }' });
  assert.equal(server.model('add').config.max_batch_size, 5);
  assert.equal(await answer(server, 'add'), 1);
  await server.loadModel('add');
  assert.equal(server.model('add').config.max_batch_size, 4, 'a plain load takes the files again');
});

test('a model is loaded from bytes, and needs no repository', async (t) => {
  const server = await explicit(t);
  await server.loadModel('given', { config: {}, files: { '7/model.onnx': addModel({ addend: 2 }) } });
  assert.equal(server.model('given').metadata.versions.join(), '7');
  assert.equal(await answer(server, 'given'), 2);
  await server.loadModel('add', { config: {}, files: { '1/model.onnx': addModel({ addend: 9 }) } });
  assert.equal(await answer(server, 'add'), 9, "the repository's files are ignored");
});

test('the bytes are copied before loadModel returns', async (t) => {
  const server = await explicit(t);
  const model = addModel({ addend: 2 });
  const loading = server.loadModel('given', { config: {}, files: { '1/model.onnx': model } });
  model.fill(0);
  await loading;
  assert.equal(await answer(server, 'given'), 2);
});

const skip = skipBefore(18, 'weights in files of their own, given as bytes');
test('weights in a file of their own are found among the bytes', { skip }, async (t) => {
  const server = await explicit(t);
  const { model, data } = externalDataModel('model.onnx.data');
  await server.loadModel('external', {
    config: {},
    files: { '1/model.onnx': model, '1/model.onnx.data': data },
  });
  const { inputs } = server.model('external').metadata;
  const shape = inputs[0]?.shape.map((dim) => Math.max(1, dim)) ?? [];
  const count = shape.reduce((product, dim) => product * dim, 1);
  const { outputs } = await server.infer('external', { x: { data: new Float32Array(count), shape } });
  assert.ok(outputs['y']);
  assert.ok(externalWeights().length > 0);
});

test(
  'a model given as bytes has no weights but those given: files of the working directory are not read',
  { skip: skipBefore(24, 'weights are kept in their folder') },
  async (t) => {
    const server = await explicit(t);
    const folder = await temporaryFolder(t);
    const before = process.cwd();
    t.after(() => {
      process.chdir(before);
    });
    process.chdir(folder);
    for (const location of [
      'weights.bin',
      join(folder, 'weights.bin'),
      `../${basename(folder)}/weights.bin`,
    ]) {
      const { model, data } = externalDataModel(location);
      await writeFile(join(folder, 'weights.bin'), data);
      const error = await refusal(
        server.loadModel('external', { config: {}, files: { '1/model.onnx': model } }),
      );
      assert.deepEqual([error.code, error.model], ['INTERNAL', 'external']);
      assert.match(error.message, /[Ee]xternal data|weights\.bin/);
    }
  },
);

test('labels are read from the bytes', async (t) => {
  const server = await explicit(t);
  await server.loadModel('labelled', {
    config: {
      max_batch_size: 2,
      input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [16] }],
      output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [16], label_filename: 'labels.txt' }],
    },
    files: { '1/model.onnx': addModel(), 'labels.txt': new TextEncoder().encode('zero\none\n') },
  });
  const { outputs } = await server
    .model('labelled')
    .infer(
      { x: new Float32Array(16).fill(0, 1).fill(5, 0, 1) },
      { outputs: [{ name: 'y', classification: 1 }] },
    );
  assert.match(outputs['y']?.strings().join() ?? '', /^6.*:0:zero$/);
});

for (const [what, options, pattern] of [
  ['files without a configuration', { files: { '1/model.onnx': addModel() } }, /give config, too/],
  ['a path out of the folder', { config: {}, files: { '../x': addModel() } }, /inside of the model's folder/],
  [
    'content that is no Uint8Array',
    { config: {}, files: { '1/model.onnx': 'x' as never } },
    /expected a Uint8Array/,
  ],
  [
    'a model file that is missing',
    { config: {}, files: { '1/other.txt': addModel() } },
    /backend|model\.onnx/,
  ],
  ['an unknown key', { confg: {} } as never, /unknown key 'confg'.*did you mean config/],
  ['a wrong field', { config: { max_batchsize: 1 } as never }, /max_batchsize.*did you mean max_batch_size/],
] as const) {
  test(`loadModel refuses ${what}, and what was served goes on`, async (t) => {
    const server = await explicit(t);
    await server.loadModel('add');
    const error = await refusal(server.loadModel('add', options));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, pattern);
    assert.equal(await answer(server, 'add'), 1);
  });
}

test('a corrupt model given as bytes fails with its name and the reason of the runtime', async (t) => {
  const server = await explicit(t);
  const error = await refusal(
    server.loadModel('broken', { config: {}, files: { '1/model.onnx': new Uint8Array(100).fill(7) } }),
  );
  assert.equal(error.code, 'INTERNAL');
  assert.equal(error.model, 'broken');
  assert.match(error.message, /model\.onnx/);
});
