/**
 * ONNX Runtime on real GPUs. Needs a GPU, and a GPU build of ONNX Runtime with CUDA and cuDNN, from
 * TRITONTS_TEST_ORT_GPU_LIBRARY or onnxruntime-node. Otherwise every test is skipped with a message about the
 * missing part.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { floats, row, serve } from '../support/harness.js';
import { gpuOptions, onnxGpus } from '../support/gpus.js';
import { addModel, convNetModel, identityModel, mlpModel } from '../support/models.js';
import type { RepositoryModel } from '../support/repository.js';

const library = process.env['TRITONTS_TEST_ORT_GPU_LIBRARY'];
const backendConfig = library === undefined ? {} : { onnxruntime: { library } };
const gpus = await onnxGpus(gpuOptions({ backendConfig }));
const options = { skip: gpus.usable.length > 0 ? false : gpus.missing().text };

/** A model with instances on GPUs, or as `group` says. Its config is completed from its file. */
function onGpu(model: Uint8Array, group = '{ kind: KIND_GPU }', more = ''): RepositoryModel {
  return {
    config: `backend: "onnxruntime"\ninstance_group ${group}\n${more}`,
    versions: { '1': model },
  };
}

/** The greatest difference of two arrays, relative to the greatest value of the second. */
function distance(a: readonly number[], b: readonly number[]): number {
  assert.equal(a.length, b.length);
  const scale = Math.max(...b.map(Math.abs));
  return Math.max(...a.map((value, i) => Math.abs(value - (b[i] ?? 0)))) / scale;
}

/** Disables TF32, the reduced precision in which newer GPUs multiply. */
const exact =
  'optimization { execution_accelerators { gpu_execution_accelerator { name: "cuda" parameters { key: "use_tf32" value: "0" } } } }';

test('a model runs on every GPU, and answers many requests at once', options, async (t) => {
  const server = await serve(t, { add: onGpu(addModel(), '{ kind: KIND_GPU count: 2 }') }, { backendConfig });
  const model = server.model('add');
  const devices = model.runtimeInfo().instances.map(({ kind, device }) => [kind, device]);
  const all = gpus.usable.map((device) => ['KIND_GPU', device]);
  assert.deepEqual(devices, [...all, ...all]);
  const results = await Promise.all(
    Array.from({ length: 500 }, (_, i) => model.infer({ x: { data: row(i), shape: [1, 16] } })),
  );
  for (const [i, result] of results.entries()) assert.deepEqual(floats(result), [...row(i + 1)]);
});

test('KIND_AUTO means the GPUs', options, async (t) => {
  const server = await serve(t, { add: onGpu(addModel(), '{ kind: KIND_AUTO }') }, { backendConfig });
  assert.equal(server.model('add').runtimeInfo().instances[0]?.kind, 'KIND_GPU');
});

for (const [name, file, input, shape, output] of [
  ['a perceptron', mlpModel(), 'x', [4, 512], 'y'],
  ['an image classifier', convNetModel({ width: 16, size: 64 }), 'image', [2, 3, 64, 64], 'logits'],
] as const) {
  test(`${name} gives the same numbers on a GPU and on the CPU`, options, async (t) => {
    const server = await serve(
      t,
      { gpu: onGpu(file, '{ kind: KIND_GPU gpus: 0 }', exact), cpu: onGpu(file, '{ kind: KIND_CPU }') },
      { backendConfig },
    );
    const size = shape.reduce((product, dim) => product * dim, 1);
    const inputs = { [input]: { data: Float32Array.from({ length: size }, (_, i) => Math.sin(i)), shape } };
    const [onGpuGot, onCpuGot] = await Promise.all(
      ['gpu', 'cpu'].map((model) => server.infer(model, inputs)),
    );
    assert.ok(onGpuGot && onCpuGot);
    const apart = distance(floats(onGpuGot, output), floats(onCpuGot, output));
    assert.ok(apart < 1e-4, `${apart}`);
  });
}

test('instances on a GPU and on the CPU serve one model', options, async (t) => {
  const server = await serve(
    t,
    { add: onGpu(addModel(), '[ { kind: KIND_GPU gpus: 0 }, { kind: KIND_CPU } ]') },
    { backendConfig },
  );
  const results = await Promise.all(
    Array.from({ length: 100 }, (_, i) => server.infer('add', { x: { data: row(i), shape: [1, 16] } })),
  );
  for (const [i, result] of results.entries()) assert.deepEqual(floats(result), [...row(i + 1)]);
});

test('strings pass through a model on a GPU', options, async (t) => {
  const server = await serve(t, { words: onGpu(identityModel('BYTES', ['N', 2])) }, { backendConfig });
  const { outputs } = await server.infer('words', { x: [['a\0b', 'ä']] });
  assert.deepEqual(outputs['y']?.strings(), ['a\0b', 'ä']);
});

test('options of the CUDA provider are taken, and an unknown one is refused', options, async (t) => {
  const parameters = `parameters { key: "gpu_mem_limit" value { string_value: "1073741824" } }
    parameters { key: "arena_extend_strategy" value { string_value: "1" } }
    parameters { key: "cudnn_conv_algo_search" value { string_value: "2" } }
    parameters { key: "do_copy_in_default_stream" value { string_value: "1" } }`;
  const server = await serve(
    t,
    {
      tuned: onGpu(addModel(), '{ kind: KIND_GPU }', `${exact} ${parameters}`),
      odd: onGpu(addModel(), '{ kind: KIND_GPU }', exact.replace('use_tf32', 'no_such_option')),
    },
    { backendConfig, exitOnError: false },
  );
  assert.deepEqual(floats(await server.infer('tuned', { x: { data: row(), shape: [1, 16] } })), [...row(1)]);
  const odd = server.index().find(({ name }) => name === 'odd');
  assert.equal(odd?.state, 'UNAVAILABLE');
  assert.match(odd.reason ?? '', /the CUDA provider refuses an option: .*no_such_option/);
});

test('models on a GPU can be loaded and unloaded again and again', options, async (t) => {
  const server = await serve(
    t,
    { add: onGpu(addModel()) },
    { backendConfig, modelControlMode: 'explicit', loadModels: [] },
  );
  for (let i = 0; i < 3; i++) {
    await server.loadModel('add');
    assert.deepEqual(floats(await server.infer('add', { x: { data: row(i), shape: [1, 16] } })), [
      ...row(i + 1),
    ]);
    await server.unloadModel('add');
  }
});
