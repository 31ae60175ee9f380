import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { addModel, externalDataModel } from '../support/models.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { configText, floats, identity, onnx, rejection, row, start } from '../support/harness.js';

const onPosix = { skip: process.platform === 'win32' && 'there are no such files' };

test(
  'a pipe in place of a file of a model is refused at once, and nothing waits for it',
  onPosix,
  async (t) => {
    const { model, data } = externalDataModel('weights.bin');
    const repository = await writeRepository(await temporaryFolder(t), {
      labelled: {
        config: `${configText()}\noutput [ { name: "z" data_type: TYPE_FP32 dims: [ 1 ] label_filename: "labels.txt" } ]`,
        versions: { '1': addModel() },
        files: { 'labels.txt': 'a\nb' },
      },
      whole: onnx(),
      parts: { versions: { '1': { 'model.onnx': model, 'weights.bin': data } } },
      good: onnx(),
    });
    const cases = [
      ['labelled', 'labels.txt'],
      ['whole', '1/model.onnx'],
      ['whole', 'config.pbtxt'],
      ['parts', '1/weights.bin'],
    ] as const;
    for (const [name, file] of cases) {
      const path = join(repository, name, file);
      await rename(path, `${path}.kept`);
      execFileSync('mkfifo', [path]);
      const server = await start(t, repository, {
        modelControlMode: 'explicit',
        loadModels: [name, 'good'],
        exitOnError: false,
      });
      const { state, reason = '' } = server.index().find((model) => model.name === name) ?? {};
      assert.equal(state, 'UNAVAILABLE');
      assert.match(
        reason,
        new RegExp(`^model '${name}': '${file}' is a pipe; its folder '.*${name}' must hold`),
      );
      const error = await rejection(server.loadModel(name));
      assert.deepEqual([error.code, error.model], ['INVALID_ARG', name]);
      assert.equal(server.model('good').ready, true);
      await server.close();
      await rm(path);
      await rename(`${path}.kept`, path);
    }
  },
);

test("a link from a model's folder to a large tree is refused with the limit", onPosix, async (t) => {
  const tree = await temporaryFolder(t);
  const files = Object.fromEntries(Array.from({ length: 4200 }, (_, i) => [`${i}`, '']));
  await writeRepository(tree, { a: { files }, b: { files }, c: { files }, d: { files } });
  const repository = await writeRepository(await temporaryFolder(t), { m: onnx() });
  await symlink(tree, join(repository, 'm', '1', 'data'));
  const error = await rejection(start(t, repository, { outsideLinks: true }));
  assert.deepEqual([error.code, error.model], ['INVALID_ARG', 'm']);
  assert.match(
    error.message,
    /model 'm': it has more than 16384 files and folders, as far as '1\/data\/d'; its folder/,
  );
  // With fewer entries the model is served.
  await rm(join(tree, 'd'), { recursive: true });
  await (await start(t, repository, { outsideLinks: true })).close();
});

test('a link to the root of the file system is refused', onPosix, async (t) => {
  const repository = await writeRepository(await temporaryFolder(t), { m: identity() });
  await symlink('/', join(repository, 'm', 'root'));
  for (const outsideLinks of [false, true]) {
    const error = await rejection(start(t, repository, { outsideLinks }));
    assert.deepEqual([error.code, error.model], ['INVALID_ARG', 'm']);
  }
});

test('links to files and folders elsewhere are followed if the program allows it', onPosix, async (t) => {
  const elsewhere = await writeRepository(await temporaryFolder(t), {
    store: { files: { 'v1/add.onnx': addModel() } },
  });
  const repository = await writeRepository(await temporaryFolder(t), {
    file: { config: configText(), versions: { '1': {} } },
    version: { config: configText({ more: 'default_model_filename: "add.onnx"' }) },
  });
  await symlink(join(elsewhere, 'store', 'v1', 'add.onnx'), join(repository, 'file', '1', 'model.onnx'));
  await symlink(join(elsewhere, 'store', 'v1'), join(repository, 'version', '1'));
  const server = await start(t, repository, { outsideLinks: true });
  for (const model of ['file', 'version'])
    assert.equal(floats(await server.infer(model, { x: row(1) }))[0], 2);
});
