import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { test } from 'node:test';
import { findOnnxRuntimeLibrary, outsideOfArchive } from '../../src/backends/onnxruntime/library.js';
import { onnx, rejection, row, serve } from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

test('the library is the one that onnxruntime-node carries for this platform', () => {
  const file = findOnnxRuntimeLibrary();
  assert.ok(isAbsolute(file) && existsSync(file));
  assert.ok(file.includes('onnxruntime-node'));
  assert.ok(file.includes(join(process.platform, process.arch)));
});

test('a library that Electron shows inside of app.asar is opened where it was unpacked', async (t) => {
  const folder = await temporaryFolder(t);
  await writeRepository(folder, { 'app.asar.unpacked': { files: { 'node_modules/lib.so': '' } } });
  const unpacked = join(folder, 'app.asar.unpacked', 'node_modules', 'lib.so');
  assert.equal(outsideOfArchive(join(folder, 'app.asar', 'node_modules', 'lib.so')), unpacked);
  for (const file of [unpacked, join(folder, 'app.asar', 'none.so'), join(folder, 'app.asar.txt')]) {
    assert.equal(outsideOfArchive(file), file);
  }
});

test('runtimeInfo tells the library and its version', async (t) => {
  const server = await serve(t, { add: onnx() });
  const { library } = server.model('add').runtimeInfo();
  assert.equal(library?.path, findOnnxRuntimeLibrary());
  assert.match(library.version, /^1\.\d+\.\d+/);
});

test('a library can be named by option', async (t) => {
  const library = findOnnxRuntimeLibrary();
  const server = await serve(t, { add: onnx() }, { backendConfig: { onnxruntime: { library } } });
  assert.equal(server.model('add').runtimeInfo().library?.path, library);
  assert.equal((await server.infer('add', { x: row() })).outputs['y']?.data[0], 1);
});

test('a library that is not there makes the model UNAVAILABLE, and the message names it', async (t) => {
  const library = join(await temporaryFolder(t), 'libnothing.so');
  const error = await rejection(serve(t, { add: onnx() }, { backendConfig: { onnxruntime: { library } } }));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.ok(error.message.includes(library), error.message);
});
