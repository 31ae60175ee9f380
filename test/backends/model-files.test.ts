import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createServer } from '../../src/index.js';
import { addModel, externalDataModel, externalWeights, unsupportedOperatorModel } from '../support/models.js';
import { temporaryFolder, writeRepository, type Files, type RepositoryModel } from '../support/repository.js';
import { configText, floats, rejection, row, serve, start, type Context } from '../support/harness.js';

const zeros = new Float32Array(512);

/** A model with its weights in a separate file. */
const { model, data } = externalDataModel('weights.bin');

/** A version with these files, and the config of the model above. */
function external(files: Files, more = ''): RepositoryModel {
  const config = configText({
    inputs: [{ name: 'x', dims: [512] }],
    outputs: [{ name: 'y', dims: [512] }],
    more,
  });
  return { config, versions: { '1': files } };
}

async function weightsOf(t: Context, served: RepositoryModel): Promise<readonly number[]> {
  const server = await serve(t, { m: served });
  return floats(await server.infer('m', { x: zeros }));
}

const places: Readonly<Record<string, RepositoryModel>> = {
  'beside the model': external({ 'model.onnx': model, 'weights.bin': data }),
  'in a folder named model.onnx, with the model': external({
    'model.onnx/model.onnx': model,
    'model.onnx/weights.bin': data,
  }),
  'beside a model of another name in a folder': external(
    { 'nets/small.onnx': model, 'nets/weights.bin': data },
    'default_model_filename: "nets/small.onnx"',
  ),
  'in a folder of another name, with model.onnx': external(
    { 'net/model.onnx': model, 'net/weights.bin': data },
    'default_model_filename: "net"',
  ),
};

for (const [where, served] of Object.entries(places)) {
  test(`external data is found ${where}`, async (t) => {
    assert.deepEqual(await weightsOf(t, served), [...externalWeights()]);
  });
}

test('a folder named model.onnx is completed like a file', async (t) => {
  const server = await serve(t, {
    m: { versions: { '1': { 'model.onnx/model.onnx': model, 'model.onnx/weights.bin': data } } },
  });
  const { backend, default_model_filename, max_batch_size } = server.model('m').config;
  assert.deepEqual([backend, default_model_filename, max_batch_size], ['onnxruntime', 'model.onnx', 4]);
  assert.deepEqual(floats(await server.infer('m', { x: zeros })), [...externalWeights()]);
});

const broken: Readonly<Record<string, Uint8Array>> = {
  empty: new Uint8Array(0),
  'cut in half': model.subarray(0, model.length >> 1),
  'a byte short': model.subarray(0, model.length - 1),
  garbage: Uint8Array.of(1, 2, 3, 255, 7),
  text: new TextEncoder().encode('<html>\n404 Not Found\n</html>\n'),
  'a model with an unknown operator': unsupportedOperatorModel(),
};

for (const [what, content] of Object.entries(broken)) {
  test(`a file that is ${what} is reported with model and file in one line, from a folder and as bytes`, async (t) => {
    const folder = await writeRepository(await temporaryFolder(t), { net: { versions: { '3': content } } });
    const server = await start(t, folder, { modelControlMode: 'explicit' });
    const files = { '3/model.onnx': content };
    const loads = [
      [() => server.loadModel('net'), join(folder, 'net', '3', 'model.onnx')],
      [() => server.loadModel('net', { config: { backend: 'onnxruntime' }, files }), 'model.onnx'],
    ] as const;
    for (const [load, file] of loads) {
      const error = await rejection(load());
      assert.deepEqual([error.code, error.model], ['INTERNAL', 'net']);
      const said = error.message.slice("model 'net', version 3: ".length);
      assert.ok(said.startsWith(`can't load '${file}': `) || said.startsWith(`'${file}' is `), error.message);
      assert.doesNotMatch(error.message, /[\r\n]/);
    }
    const whole = await rejection(createServer(folder));
    assert.equal(whole.message.split('\n').length, 2);
    assert.match(
      whole.message,
      /\n {2}net: model 'net', version 3: (can't load )?'.*[\\/]net[\\/]3[\\/]model\.onnx'/,
    );
  });
}

test('missing external data is INTERNAL and names the file', async (t) => {
  const error = await rejection(serve(t, { m: external({ 'model.onnx': model }) }));
  assert.deepEqual([error.code, error.model], ['INTERNAL', 'm']);
  assert.match(error.message, /weights\.bin/);
});

test('external data that is too short is INTERNAL', async (t) => {
  const short = external({ 'model.onnx': model, 'weights.bin': data.subarray(0, 100) });
  assert.equal((await rejection(serve(t, { m: short }))).code, 'INTERNAL');
});

const missing: readonly (readonly [what: string, files: Files, more: string, path: string])[] = [
  ['a version without a file', { 'other.txt': '' }, '', "its file model.onnx is not there: '"],
  [
    'a name that no file has',
    { 'model.onnx': model },
    'default_model_filename: "net.onnx"',
    'its file net.onnx is',
  ],
  [
    'a folder without model.onnx',
    { 'model.onnx/net.onnx': model },
    '',
    join('m', '1', 'model.onnx', 'model.onnx'),
  ],
  ['an empty file', { 'model.onnx': '' }, '', join('m', '1', 'model.onnx')],
  ['a file that is no model', { 'model.onnx': 'no model' }, '', join('m', '1', 'model.onnx')],
];

for (const [what, files, more, path] of missing) {
  test(`${what} is INTERNAL and names ${path}`, async (t) => {
    const error = await rejection(serve(t, { m: external(files, more) }));
    assert.deepEqual([error.code, error.model], ['INTERNAL', 'm']);
    assert.ok(error.message.includes(path), error.message);
  });
}

for (const name of ['../..', '../2/model.onnx', 'nets/../../model.onnx']) {
  test(`the name ${name}, which leads out of the version's folder, is refused with its line`, async (t) => {
    const served = external({ 'model.onnx': model }, `default_model_filename: "${name}"`);
    const error = await rejection(serve(t, { m: { ...served, files: { 'model.onnx': model } } }));
    assert.deepEqual([error.code, error.model], ['UNSUPPORTED', 'm']);
    assert.equal(error.location?.field, 'default_model_filename');
    const lines = served.config?.split('\n') ?? [];
    assert.equal(error.location.line, lines.findIndex((line) => line.includes(name)) + 1);
    assert.match(error.message, /leads out of the version's directory/);
  });
}

test("a name that begins with a slash starts at the version's folder all the same", async (t) => {
  const absolute = external(
    { 'nets/small.onnx': model, 'nets/weights.bin': data },
    'default_model_filename: "/nets/small.onnx"',
  );
  assert.deepEqual(await weightsOf(t, absolute), [...externalWeights()]);
});

test('each version has its own file', async (t) => {
  const config = configText({ more: 'version_policy { all { } }' });
  const versions = {
    '1': addModel({ addend: 1 }),
    '2': addModel({ addend: 2 }),
    '10': addModel({ addend: 10 }),
  };
  const server = await serve(t, { m: { config, versions } });
  for (const version of [1, 2, 10]) {
    const { outputs } = await server.infer('m', { x: row() }, { version });
    assert.equal(outputs['y']?.data[0], version);
  }
  assert.equal((await server.infer('m', { x: row() })).model.version, '10');
});

test('a path with blanks and letters beyond ASCII is opened', async (t) => {
  const name = 'dossier é/ネット 1.onnx';
  const config = configText({ more: `default_model_filename: "${name}"` });
  const server = await serve(t, { 'modèle 模型': { config, versions: { '1': { [name]: addModel() } } } });
  assert.equal((await server.infer('modèle 模型', { x: row() })).outputs['y']?.data[0], 1);
});
