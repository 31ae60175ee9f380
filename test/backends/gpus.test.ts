import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { addon } from '../../src/addon/load.js';
import { gpuFinder, usableGpus, type GpuOptions } from '../../src/backends/gpu-finder.js';
import { floats, identity, onnx, rejection, row, serve } from '../support/harness.js';
import { askDriver, gpuOptions } from '../support/gpus.js';
import { addModel } from '../support/models.js';
import { temporaryFolder } from '../support/repository.js';
import { providerFiles } from './fake-gpus.js';

const onLinux = { skip: process.platform === 'linux' ? false : 'the files have other names' };

/** A model y = x + 1 with an instance group. */
function grouped(group: string, more = ''): ReturnType<typeof onnx> {
  const { config = '', ...rest } = onnx(addModel());
  return {
    ...rest,
    config: config.replace(
      'instance_group [ { kind: KIND_CPU count: 1 } ]',
      `instance_group ${group} ${more}`,
    ),
  };
}

test('a backend that is not known says nothing of GPUs, one that runs on the CPU has none', () => {
  const find = gpuFinder(gpuOptions());
  assert.equal(find('other'), undefined);
  assert.deepEqual(find('identity')?.usable, []);
  assert.deepEqual(find('identity')?.missing(), {
    code: 'UNSUPPORTED',
    text: 'the identity backend runs on the CPU only',
  });
});

test('the CUDA provider is looked for in the folder of the library, where links lead', onLinux, async (t) => {
  const folder = await temporaryFolder(t);
  const real = join(folder, 'real');
  await mkdir(real);
  await writeFile(join(real, 'libonnxruntime.so.1'), '');
  await symlink(join(real, 'libonnxruntime.so.1'), join(folder, 'libonnxruntime.so'));
  // A server asks once.
  const newOptions = (): GpuOptions =>
    gpuOptions({ backendConfig: { onnxruntime: { library: join(folder, 'libonnxruntime.so') } } });
  await askDriver(newOptions(), true);
  for (const file of providerFiles) {
    const found = gpuFinder(newOptions())('onnxruntime');
    assert.deepEqual(found?.usable, []);
    const { code, text } = found.missing();
    assert.equal(code, 'UNAVAILABLE');
    assert.ok(text.startsWith(`there is no ${file} in '${real}'`), text);
    assert.match(text, /install a GPU build of ONNX Runtime .* backendConfig\.onnxruntime\.library/);
    await writeFile(join(real, file), '');
  }
  const options = newOptions();
  const found = gpuFinder(options)('onnxruntime');
  assert.deepEqual(found?.usable, usableGpus(options).usable);
  const { devices, reason } = addon().gpus() ?? {};
  assert.ok(devices);
  if (devices.length === 0) assert.equal(found.missing().text, `there is no GPU to use: ${reason}`);
});

test('a library that is not there has no provider', () => {
  const find = gpuFinder(
    gpuOptions({ backendConfig: { onnxruntime: { library: '/nowhere/libonnxruntime.so' } } }),
  );
  assert.deepEqual(find('onnxruntime')?.usable, []);
  assert.match(
    find('onnxruntime')?.missing().text ?? '',
    /library '\/nowhere\/libonnxruntime\.so' cannot be read/,
  );
});

test(
  'KIND_GPU without the CUDA provider is UNAVAILABLE: the file, the folder, and the way out',
  onLinux,
  async (t) => {
    const folder = await temporaryFolder(t);
    const library = join(folder, 'libonnxruntime.so.1');
    await writeFile(library, '');
    const models = { add: grouped('[ { kind: KIND_GPU } ]') };
    const error = await rejection(serve(t, models, { backendConfig: { onnxruntime: { library } } }));
    assert.equal(error.code, 'UNAVAILABLE');
    assert.equal(error.location?.field, 'instance_group[0].kind');
    for (const part of [
      String(providerFiles[0]),
      folder,
      'backendConfig.onnxruntime.library',
      "instanceKind: 'cpu'",
    ])
      assert.ok(error.message.includes(part), error.message);
  },
);

test('KIND_GPU for a backend that runs on the CPU is UNSUPPORTED', async (t) => {
  const { config = '', ...rest } = identity();
  const models = { echo: { ...rest, config: config.replace('KIND_CPU', 'KIND_GPU') } };
  const error = await rejection(serve(t, models));
  assert.equal(error.code, 'UNSUPPORTED');
  assert.match(
    error.message,
    /KIND_GPU, but the identity backend runs on the CPU only\. To use the CPU: instanceKind: 'cpu'/,
  );
});

test("instanceKind 'cpu' loads models for GPUs on the CPU, which answer", async (t) => {
  const tensorRt =
    'optimization { execution_accelerators { gpu_execution_accelerator { name: "tensorrt" } } }';
  const server = await serve(
    t,
    {
      add: grouped('[ { kind: KIND_GPU count: 2 gpus: [ 0, 5 ] } ]', tensorRt),
      echo: identity({ more: 'instance_group { kind: KIND_GPU }' }),
    },
    { instanceKind: 'cpu' },
  );
  const model = server.model('add');
  assert.deepEqual(model.runtimeInfo().instances, [
    { name: 'add_0_0', kind: 'KIND_CPU', device: 0 },
    { name: 'add_0_1', kind: 'KIND_CPU', device: 0 },
  ]);
  assert.deepEqual(
    model.notes.map((note) => note.slice(0, note.indexOf(': '))),
    [
      'instance_group[0].kind',
      'instance_group[0].gpus',
      'optimization.execution_accelerators.gpu_execution_accelerator',
    ],
  );
  assert.deepEqual(floats(await model.infer({ x: row(1) })), [...row(2)]);
  assert.deepEqual(floats(await server.infer('echo', { x: row(3) })), [...row(3)]);
});
