/** What is wrong with a model's files, from a folder and from bytes. The advice of each message is followed, and helps. */

import assert from 'node:assert/strict';
import { rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { createServer, type InferenceServer } from '../../src/index.js';
import { addModel } from '../support/models.js';
import { graph } from '../support/onnx/graph.js';
import { temporaryFolder, writeRepository, type Files } from '../support/repository.js';
import { rejection, serve, start } from '../support/harness.js';

/** y = x + w, whose weights w are in a file beside it. */
const external = graph('external')
  .input('x', 'FP32', ['N', 1024])
  .initializer(
    'w',
    'FP32',
    [1024],
    Array.from({ length: 1024 }, () => 1),
  )
  .node('Add', ['x', 'w'], ['y'])
  .output('y', 'FP32', ['N', 1024])
  .encodeExternal('weights.bin');
const weights = external.data;
const pointer = Buffer.from(
  'version https://git-lfs.github.com/spec/v1\noid sha256:0123456789abcdef\nsize 123456\n',
);
const safetensors = Buffer.concat([
  Buffer.from([0x40, 0, 0, 0, 0, 0, 0, 0]),
  Buffer.from('{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'.padEnd(64)),
  Buffer.alloc(4),
]);

/** Files of version 1 that do not load, what is said of them, and those that the advice asks for. */
const cases: readonly (readonly [what: string, files: Files, message: RegExp, after: Files])[] = [
  ['an empty file', { 'model.onnx': '' }, /is empty: write or download the model again/, {}],
  [
    'a pointer of Git LFS',
    { 'model.onnx': pointer },
    /Git LFS pointer.* of 123456 bytes: run 'git lfs pull'/,
    {},
  ],
  [
    'a web page',
    { 'model.onnx': '<!doctype html>' },
    /is a web page, not a model: download the file itself/,
    {},
  ],
  [
    'a pickle',
    { 'model.onnx': Buffer.from([0x80, 4, 0x95, 1, 0, 0, 0, 0, 0, 0, 0]) },
    /is a pickle of Python's, not an ONNX model: export the model to ONNX/,
    {},
  ],
  [
    'safetensors',
    { 'model.onnx': safetensors },
    /file of safetensors, which has weights and no graph: export/,
    {},
  ],
  [
    'a model that is cut off',
    { 'model.onnx': addModel().subarray(0, 60) },
    /is cut off: it has 60 bytes, and its content goes on to byte \d+ at least: copy or download the model again/,
    {},
  ],
  [
    'weights that are missing',
    { 'model.onnx': external.model },
    /'weights\.bin', which has the weights of '.*model\.onnx' \(such as 'w'\), is not there: put it beside/,
    { 'weights.bin': weights },
  ],
  [
    'weights that are cut off',
    { 'model.onnx': external.model, 'weights.bin': weights.subarray(0, 100) },
    /'weights\.bin', .* is cut off: it has 100 bytes, and these weights end at byte 4096: copy or download it again/,
    { 'weights.bin': weights },
  ],
  [
    'weights that are a pointer of Git LFS',
    { 'model.onnx': external.model, 'weights.bin': pointer },
    /'weights\.bin', .* is a Git LFS pointer .*: run 'git lfs pull'/,
    { 'weights.bin': weights },
  ],
];

const explicit = { modelControlMode: 'explicit' } as const;
const bytesOf = (files: Files): Record<string, Uint8Array> =>
  Object.fromEntries(
    Object.entries(files).map(([path, content]) => [
      `1/${path}`,
      typeof content === 'string' ? Buffer.from(content) : content,
    ]),
  );

void suite('a file that does not load is named as what it is, and the advice helps', () => {
  for (const [what, files, message, after] of cases) {
    const right = Object.keys(after).length > 0 ? { ...files, ...after } : { 'model.onnx': addModel() };
    test(`${what}, in a folder`, async (t) => {
      const folder = await writeRepository(await temporaryFolder(t), { m: { versions: { '1': files } } });
      const server = await start(t, folder, explicit);
      const error = await rejection(server.loadModel('m'));
      assert.match(error.message, message);
      assert.equal(error.model, 'm');
      await writeRepository(folder, { m: { versions: { '1': right } } });
      await server.loadModel('m');
    });
    test(`${what}, in bytes`, async (t) => {
      const server = await serve(t, {}, explicit);
      const load = (given: Files): Promise<unknown> =>
        server.loadModel('m', { config: {}, files: bytesOf(given) });
      assert.match((await rejection(load(files))).message, message);
      await load(right);
    });
  }
});

void suite('weights behind links', () => {
  const x = new Float32Array(1024).fill(1);
  const sum = async (server: InferenceServer): Promise<unknown> =>
    (await server.infer('m', { x: { data: x, shape: [1, 1024] } })).outputs['y']?.data[1023];
  for (const linked of [['weights.bin'], ['model.onnx'], ['model.onnx', 'weights.bin']]) {
    test(`are found: ${linked.join(' and ')}`, async (t) => {
      const outside = await temporaryFolder(t);
      const files = { 'model.onnx': external.model, 'weights.bin': weights };
      const folder = await writeRepository(await temporaryFolder(t), { m: { versions: { '1': files } } });
      // As in the cache of Hugging Face, the targets have other names.
      for (const [i, name] of linked.entries()) {
        await rename(join(folder, 'm', '1', name), join(outside, `blob${i}`));
        await symlink(join(outside, `blob${i}`), join(folder, 'm', '1', name));
      }
      assert.equal(await sum(await start(t, folder)), 2);
    });
  }

  test('that lead nowhere are said to be missing', async (t) => {
    const files = { 'model.onnx': external.model };
    const folder = await writeRepository(await temporaryFolder(t), { m: { versions: { '1': files } } });
    await symlink('/nowhere/weights', join(folder, 'm', '1', 'weights.bin'));
    assert.match((await rejection(start(t, folder))).message, /'weights\.bin', .* is not there/);
  });
});

void suite('a configuration with another name', () => {
  const text = 'max_batch_size: 3';
  for (const [name, content, advice] of [
    ['config.pbtxt.txt', text, /config\.pbtxt\.txt is not read, .*: rename it/],
    ['Config.pbtxt', text, /Config\.pbtxt is not read, .*: rename it/],
    [
      'config.json',
      '{"maxBatchSize": 3}',
      /config\.json is not read, .* as config of loadModel, or write it as/,
    ],
  ] as const) {
    test(`${name} is a warning and a note, whose advice helps`, async (t) => {
      const model = { versions: { '1': addModel() }, files: { [name]: content } };
      const folder = await writeRepository(await temporaryFolder(t), { m: model });
      const warnings: string[] = [];
      const warn = (line: string): void => void warnings.push(line);
      const server = await start(t, folder, { ...explicit, loadModels: ['m'], logger: { warn } });
      assert.ok(
        server.model('m').notes.some((note) => advice.test(note)),
        server.model('m').notes.join('\n'),
      );
      assert.match(warnings.join('\n'), advice);
      assert.notEqual(server.model('m').config.max_batch_size, 3);
      if (name === 'config.json') await server.loadModel('m', { config: content });
      else {
        await rename(join(folder, 'm', name), join(folder, 'm', 'config.pbtxt'));
        await server.loadModel('m');
      }
      assert.equal(server.model('m').config.max_batch_size, 3);
    });
  }

  test('among bytes it is a note, too, and said where there is no other', async (t) => {
    const server = await start(t, await temporaryFolder(t), explicit);
    for (const name of ['config.json', 'Config.pbtxt', 'config.pbtxt.txt']) {
      const files = { [name]: Buffer.from('{"maxBatchSize": 3}'), '1/model.onnx': addModel() };
      const { message } = await rejection(server.loadModel('m', { files }));
      assert.ok(message.endsWith(`or the file config.pbtxt; '${name}' is not read`), message);
      await server.loadModel('m', { files, config: {} });
      assert.match(
        server.model('m').notes.join('\n'),
        new RegExp(`^${name.replaceAll('.', '\\.')} is not read`, 'm'),
      );
    }
  });

  test('config.pbtxt among bytes is read where no other is given', async (t) => {
    const files = { 'config.pbtxt': Buffer.from(text), '1/model.onnx': addModel() };
    const server = await createServer({ ...explicit, models: { given: { files } }, loadModels: ['given'] });
    t.after(() => server.close());
    assert.equal(server.model('given').config.max_batch_size, 3);
    await server.loadModel('m', { files });
    assert.equal(server.model('m').config.max_batch_size, 3);
  });
});

void suite('the kind of a model is told from its versions', () => {
  test('whatever other folders there are', async (t) => {
    const folder = await writeRepository(await temporaryFolder(t), {
      m: {
        versions: { '.cache': { x: '' }, '0': {}, '1': addModel() },
        config: 'version_policy { all { } }',
      },
    });
    await rm(join(folder, 'm', '0'), { recursive: true });
    const server = await start(t, folder);
    assert.equal(server.model('m').config.backend, 'onnxruntime');
  });

  test('a version in the name is no backend', async (t) => {
    const name = 'bge-small-v1.5';
    const folder = await writeRepository(await temporaryFolder(t), {
      [name]: { versions: { '1': { 'bge.onnx': addModel() } } },
    });
    const server = await start(t, folder, explicit);
    const error = await rejection(server.loadModel(name));
    assert.match(
      error.message,
      /backend: missing.*Rename bge\.onnx to model\.onnx, or write in config\.pbtxt/s,
    );
    const [, advice] = /or write in config\.pbtxt (.*)$/.exec(error.message) ?? [];
    await writeFile(join(folder, name, 'config.pbtxt'), advice ?? '');
    await server.loadModel(name);
    await rm(join(folder, name, 'config.pbtxt'));
    await rename(join(folder, name, '1', 'bge.onnx'), join(folder, name, '1', 'model.onnx'));
    await server.loadModel(name);
    assert.equal(server.model(name).config.backend, 'onnxruntime');
  });
});

test('a model whose first dimensions have no names says that it runs without batches, and its advice turns them on', async (t) => {
  // As skl2onnx writes them.
  const model = graph('skl')
    .input('x', 'FP32', [-1, 4])
    .node('Relu', ['x'], ['y'])
    .output('y', 'FP32', [-1, 4])
    .encode();
  const folder = await writeRepository(await temporaryFolder(t), { skl: { versions: { '1': model } } });
  const warnings: string[] = [];
  const warn = (line: string): void => void warnings.push(line);
  const server = await start(t, folder, { ...explicit, loadModels: ['skl'], logger: { warn } });
  const advice = /has no name in the model's file.* write (max_batch_size: 64), say, in config\.pbtxt/;
  assert.match(warnings.join('\n'), /model 'skl': it runs without batches/);
  assert.match(warnings.join('\n'), advice);
  for (let i = 0; i < 64; i++) await server.infer('skl', { x: new Float32Array(4) });
  const [, line] = advice.exec(warnings.join('\n')) ?? [];
  await writeFile(join(folder, 'skl', 'config.pbtxt'), line ?? '');
  await server.loadModel('skl');
  const { max_batch_size: size, dynamic_batching: dynamic } = server.model('skl').config;
  assert.equal(size, 64);
  assert.ok(dynamic);
});
