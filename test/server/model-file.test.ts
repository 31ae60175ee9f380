import assert from 'node:assert/strict';
import { copyFile, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { createServer, type ServerOptions } from '../../src/index.js';
import { addModel, externalDataModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { tritonts } from '../cli/run.js';
import { floats, identity, onnx, rejection, row, start, type Context } from '../support/harness.js';

/** A folder with `adder.onnx`, y = x + 1. */
async function modelFile(context: Context): Promise<string> {
  const file = join(await temporaryFolder(context), 'adder.onnx');
  await writeFile(file, addModel());
  return file;
}

test('one model file is served under its name, as version 1', async (t) => {
  const file = await modelFile(t);
  for (const source of [file, pathToFileURL(file)]) {
    const server = await createServer(source);
    assert.deepEqual(server.index(), [{ name: 'adder', version: '1', state: 'READY' }]);
    assert.equal(floats(await server.infer('adder', { x: row(1) }))[0], 2);
    assert.equal(server.model('adder').metadata.platform, 'onnxruntime_onnx');
    await server.close();
  }
});

test('files and folders are served together, and equal names are refused', async (t) => {
  const file = await modelFile(t);
  const repository = await writeRepository(await temporaryFolder(t), { echo: identity() });
  const server = await createServer([file, repository]);
  assert.deepEqual(
    server.index().map(({ name }) => name),
    ['adder', 'echo'],
  );
  await server.close();
  const other = await writeRepository(await temporaryFolder(t), { adder: onnx() });
  const error = await rejection(createServer([file, other]));
  assert.match(error.message, /model 'adder' appears in two or more repositories: .*adder\.onnx, .*adder/);
});

test('weights in a file of their own are found beside it', async (t) => {
  const folder = await temporaryFolder(t);
  const { model, data } = externalDataModel('weights.bin');
  await writeFile(join(folder, 'external.onnx'), model);
  await writeFile(join(folder, 'weights.bin'), data);
  const server = await start(t, join(folder, 'external.onnx'));
  assert.equal(server.model('external').ready, true);
});

test('a model file is loaded anew when it has changed, and only then', async (t) => {
  const file = await modelFile(t);
  const server = await start(t, file, { modelControlMode: 'explicit', loadModels: ['adder'] });
  const config = (): unknown => server.model('adder').config;
  const before = config();
  await server.loadModel('adder');
  assert.equal(config(), before);
  await copyFile(file, `${file}.new`);
  await rename(`${file}.new`, file);
  await server.loadModel('adder');
  assert.notEqual(config(), before);
});

test('a file that is no model file is reported', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'notes.txt'), '');
  for (const path of [join(folder, 'notes.txt'), '/dev/null']) {
    const error = await rejection(createServer(path));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(
      error.message,
      /expected a folder of models, or a model file \(\.onnx\), but '.*' is neither/,
    );
  }
  const gone = await rejection(createServer(join(folder, 'gone.onnx')));
  assert.equal(gone.code, 'NOT_FOUND');
  await mkdir(join(folder, 'folder.onnx'));
  const server = await start(t, join(folder, 'folder.onnx'), { exitOnError: false });
  assert.deepEqual(server.index(), []);
});

test('the commands take a model file', async (t) => {
  const { code, stdout } = await tritonts('check', await modelFile(t));
  assert.equal(code, 0);
  assert.match(stdout, /^ok {5}adder \(onnxruntime, version 1\)/);
});

test('models that the program gives need no repository, and no configuration', async (t) => {
  const files = { 'model.onnx': addModel() };
  const creating = createServer({ models: { adder: { files } } });
  // The bytes were copied before the call returned.
  files['model.onnx'].fill(0);
  const server = await creating;
  t.after(() => server.close());
  assert.deepEqual(server.index(), [{ name: 'adder', version: '1', state: 'READY' }]);
  assert.equal(floats(await server.infer('adder', { x: row(1) }))[0], 2);
});

test('a given model may have versions, labels and a configuration', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { echo: identity() });
  const server = await start(t, repository, {
    models: {
      adder: {
        config: {
          version_policy: { all: {} },
          output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [16], label_filename: 'labels.txt' }],
        },
        files: {
          '1/model.onnx': addModel(),
          '2/model.onnx': addModel(),
          'labels.txt': Buffer.from('zero\n'),
        },
      },
    },
  });
  assert.deepEqual(server.model('adder').metadata.versions, ['1', '2']);
  const { outputs } = await server.infer(
    'adder',
    { x: new Float32Array(16).fill(5, 0, 1) },
    { outputs: [{ name: 'y', classification: 1 }] },
  );
  assert.match(outputs['y']?.strings()[0] ?? '', /:0:zero$/);
});

test('in explicit mode a given model is loaded, unloaded and loaded again', async (t) => {
  const models = { adder: { files: { 'model.onnx': addModel() } } };
  const server = await createServer({ models, modelControlMode: 'explicit' });
  t.after(() => server.close());
  assert.deepEqual(server.index(), [{ name: 'adder' }]);
  for (let i = 0; i < 2; i++) {
    await server.loadModel('adder');
    assert.equal(floats(await server.infer('adder', { x: row(1) }))[0], 2);
    await server.unloadModel('adder', { unloadDependents: true });
  }
  await server.loadModel('adder', { config: { max_batch_size: 3 } });
  assert.equal(server.model('adder').config.max_batch_size, 3);
});

test('what is wrong with a given model is told', async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { adder: onnx() });
  const files = { 'model.onnx': addModel() };
  const wrong: readonly [ServerOptions, RegExp][] = [
    [{}, /options\.modelRepository/],
    [{ models: {} }, /options\.modelRepository/],
    [{ models: { 'a/b': { files } } }, /expected a model's name, without '\/', as a key of options\.models/],
    [{ models: { adder: { files: {} } } }, /backend: missing, and cannot be told from the files/],
    [
      { models: { adder: { files, config: { max_batch_size: -1 } } } },
      /options\.models\['adder'\]\.config.*max_batch_size/s,
    ],
    [
      { models: { adder: { files } }, modelRepository: repository },
      /is given as options\.models\['adder'\], and/,
    ],
    [
      { models: { adder: { files: { 'model.onnx': 'text' } } } } as unknown as ServerOptions,
      /expected a Uint8Array for options\.models\['adder'\]\.files\['model\.onnx'\]/,
    ],
    [
      { models: { adder: {} } } as unknown as ServerOptions,
      /expected an object for options\.models\['adder'\]\.files/,
    ],
  ];
  for (const [options, message] of wrong) {
    const error = await rejection(createServer(options));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, message);
  }
});

test('options of unloadModel are checked', async (t) => {
  const server = await createServer({
    models: { adder: { files: { 'model.onnx': addModel() } } },
    modelControlMode: 'explicit',
  });
  t.after(() => server.close());
  const wrong = { unloadDependents: 1 } as unknown as { unloadDependents: boolean };
  const error = await rejection(server.unloadModel('adder', wrong));
  assert.match(error.message, /expected true or false for unload options\.unloadDependents/);
});
