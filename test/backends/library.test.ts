import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { test } from 'node:test';
import { findOnnxRuntimeLibrary, libraryIn } from '../../src/backends/onnxruntime/library.js';
import { onnx, rejection, row, serve, thrown } from '../support/harness.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';

test('the library is the one that onnxruntime-node carries for this platform', () => {
  const file = findOnnxRuntimeLibrary();
  assert.ok(isAbsolute(file) && existsSync(file));
  assert.ok(file.includes('onnxruntime-node'));
  assert.ok(file.includes(join(process.platform, process.arch)));
});

test('each platform has the library of the newest folder that has one for it', async (t) => {
  const folder = await temporaryFolder(t);
  await writeRepository(folder, {
    bin: {
      files: {
        'napi-v3/linux/x64/libonnxruntime.so.1.17.0': '',
        'napi-v3/darwin/x64/libonnxruntime.1.17.0.dylib': '',
        'napi-v6/linux/x64/libonnxruntime.so.1': '',
        'napi-v6/win32/arm64/onnxruntime.dll': '',
        'napi-v6/win32/arm64/onnxruntime_binding.node': '',
        'napi-v10/linux/x64/libonnxruntime.so.2': '',
        'napi-v10/darwin/arm64/onnxruntime_binding.node': '',
      },
    },
  });
  const of = (platform: NodeJS.Platform, arch: string): string =>
    libraryIn(folder, { platform, arch }).slice(join(folder, 'bin').length + 1);
  assert.equal(of('linux', 'x64'), join('napi-v10', 'linux', 'x64', 'libonnxruntime.so.2'));
  assert.equal(of('win32', 'arm64'), join('napi-v6', 'win32', 'arm64', 'onnxruntime.dll'));
  // An older version beside newer ones that left the platform out.
  assert.equal(of('darwin', 'x64'), join('napi-v3', 'darwin', 'x64', 'libonnxruntime.1.17.0.dylib'));
  for (const [platform, arch] of [
    ['linux', 'arm64'],
    ['darwin', 'arm64'],
    ['freebsd', 'x64'],
  ] as const) {
    assert.throws(() => of(platform, arch), {
      code: 'UNAVAILABLE',
      reason: 'MISSING',
      message:
        `the package onnxruntime-node at ${folder} carries no ONNX Runtime for ${platform}-${arch}: install it with ` +
        "'npm install onnxruntime-node' (ONNXRUNTIME_NODE_INSTALL=skip keeps it from downloading CUDA files), or name a " +
        'library with backendConfig.onnxruntime.library',
    });
  }
});

test('a package without libraries is told with its folder', async (t) => {
  const folder = await temporaryFolder(t);
  const { code, message } = thrown(() => libraryIn(folder));
  assert.equal(code, 'UNAVAILABLE');
  assert.ok(message.includes(`at ${folder} carries no`), message);
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
