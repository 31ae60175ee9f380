/**
 * ONNX Runtime on GPUs, as far as it can be tested without a GPU: driver and providers are fakes. Their sessions
 * compute on the CPU, with inputs and outputs in the fake driver's memory.
 */

// Long: it starts many processes.

import assert from 'node:assert/strict';
import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { onnx } from '../support/harness.js';
import { addModel } from '../support/models.js';
import { skipBefore } from '../support/runtime.js';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { linesOf, seriesOf } from '../metrics/read-text.js';
import { fakeGpus, providerFiles } from './fake-gpus.js';

const fakes = await fakeGpus({ after });
const options = { skip: fakes ? false : 'needs Linux' };

/** A model y = x + 1 with the given fields in place of its instance group. */
function model(fields: string): RepositoryModel {
  const { config = '', ...rest } = onnx(addModel());
  return { ...rest, config: config.replace('instance_group [ { kind: KIND_CPU count: 1 } ]', fields) };
}

/** The plain model, and one that adds 2 for GPUs of compute capability 9.0. */
const byCapability = (fields: string): RepositoryModel => ({
  ...model(fields),
  versions: { '1': { 'model.onnx': addModel(), 'nine.onnx': addModel({ addend: 2 }) } },
});

/** The message of an old runtime that refuses a model with CUDA graphs. */
const withoutGraphs =
  skipBefore(23, 'CUDA graphs') && /enable_cuda_graph.*needs ONNX Runtime 1\.23, but this is 1\./;

/** The fields in docs/gpu.md. */
const documented = /## ONNX models.*?```protobuf\n(.*?)```/s.exec(
  await readFile(new URL('../../../docs/gpu.md', import.meta.url), 'utf8'),
)?.[1];
assert.ok(documented);

/** An instance on a GPU with TensorRT and this option. */
function onTensorRt(key: string, value: string): string {
  return `instance_group { kind: KIND_GPU gpus: 0 } optimization { execution_accelerators {
    gpu_execution_accelerator { name: "tensorrt" parameters { key: "${key}" value: "${value}" } } } }`;
}

const repository = await writeRepository(await temporaryFolder({ after }), {
  auto: model(''),
  auto_listed: model('instance_group { gpus: 1 count: 2 }'),
  cpu: model('instance_group { kind: KIND_CPU }'),
  every: model('instance_group { kind: KIND_GPU count: 2 }'),
  mixed: model('instance_group { kind: KIND_GPU gpus: 1 } instance_group { kind: KIND_CPU count: 2 }'),
  options: model(`instance_group { kind: KIND_GPU gpus: 0 }
    optimization { execution_accelerators { gpu_execution_accelerator {
      name: "cuda"
      parameters { key: "gpu_mem_limit" value: "5" }
      parameters { key: "use_tf32" value: "0" }
      parameters { key: "device_id" value: "1" }
    } } }
    parameters { key: "gpu_mem_limit" value { string_value: "1000" } }
    parameters { key: "cudnn_conv_algo_search" value { string_value: "1" } }
    parameters { key: "arena_extend_strategy" value { string_value: "1" } }
    parameters { key: "do_copy_in_default_stream" value { string_value: "0" } }`),
  documented: model(documented),
  graphs: model(`instance_group { kind: KIND_GPU gpus: 1 count: 2 }
    optimization { priority: PRIORITY_MAX execution_accelerators { gpu_execution_accelerator {
      name: "cuda" parameters { key: "enable_cuda_graph" value: "1" }
    } } }
    parameters { key: "max_concurrency" value { string_value: "3" } }`),
  tensorrt: model(`instance_group { kind: KIND_GPU gpus: 1 }
    optimization { execution_accelerators { gpu_execution_accelerator {
      name: "tensorrt"
      parameters { key: "precision_mode" value: "FP16" }
      parameters { key: "max_workspace_size_bytes" value: "1000" }
      parameters { key: "trt_engine_cache_enable" value: "1" }
      parameters { key: "trt_engine_cache_path" value: "1" }
    } } }`),
  capability: byCapability(`instance_group { kind: KIND_GPU gpus: 1 }
    cc_model_filenames { key: "9.0" value: "nine.onnx" } cc_model_filenames { key: "7.5" value: "seven.onnx" }`),
  no_capability: byCapability(`instance_group { kind: KIND_GPU gpus: 1 }
    cc_model_filenames { key: "7.5" value: "seven.onnx" }`),
  two_files: byCapability(`instance_group { kind: KIND_GPU gpus: [ 0, 1 ] } instance_group { kind: KIND_CPU }
    cc_model_filenames { key: "9.0" value: "nine.onnx" }`),
  no_file: byCapability(`instance_group { kind: KIND_GPU gpus: 1 } instance_group { kind: KIND_CPU }
    cc_model_filenames { key: "9.0" value: "ninety.onnx" }`),
  unlike_files: {
    ...model(`instance_group { kind: KIND_GPU gpus: 1 } instance_group { kind: KIND_CPU }
      cc_model_filenames { key: "9.0" value: "nine.onnx" }`),
    versions: { '1': { 'model.onnx': addModel(), 'nine.onnx': addModel({ datatype: 'FP64' }) } },
  },
  no_precision: model(onTensorRt('precision_mode', 'FP12')),
  no_place: model(onTensorRt('trt_engine_cache_enable', '1')),
  elsewhere: model(onTensorRt('trt_engine_cache_path', '/etc')),
  third: model('instance_group { kind: KIND_GPU gpus: 2 }'),
  unknown_option: model(`instance_group { kind: KIND_GPU gpus: 0 }
    optimization { execution_accelerators { gpu_execution_accelerator {
      name: "cuda" parameters { key: "no_such_option" value: "1" }
    } } }`),
  wrong_number: model(`instance_group { kind: KIND_GPU gpus: 0 }
    parameters { key: "cudnn_conv_algo_search" value { string_value: "3" } }`),
});

/** What the models do on two GPUs. A process tells it to all tests that change nothing of the machine. */
const onTwoGpus = fakes && (await fakes.serve({}, { repository }));

/** The expected answers of a model's instances: row i holds i. */
const answers = (count: number): number[][][] =>
  Array.from({ length: count }, (_, i) => [Array.from({ length: 16 }, () => i + 1)]);
const instance = (name: string, kind: string, device: number): object => ({ name, kind, device });

test('metrics tell what the instances on each GPU did, and what is used of the pools', options, () => {
  const { metrics } = onTwoGpus ?? assert.fail();
  const series = seriesOf(metrics);
  const uuids = linesOf(metrics, 'nv_gpu_utilization{').map(
    (line) => /gpu_uuid="(GPU-[^"]+)"/.exec(line)?.[1] ?? '',
  );
  assert.equal(uuids.length, 2);
  /** The values of a model's series: without a GPU, and on each of the two GPUs. */
  const of = (name: string, model: string): (number | undefined)[] => [
    series.get(`${name}{model="${model}",version="1"}`),
    ...uuids.map((uuid) => series.get(`${name}{gpu_uuid="${uuid}",model="${model}",version="1"}`)),
  ];
  for (const name of [
    'nv_inference_request_success',
    'nv_inference_count',
    'nv_inference_exec_count',
    'nv_inference_request_duration_us',
    'nv_inference_compute_infer_duration_us',
  ]) {
    const [none, first = NaN, second = NaN] = of(name, 'every');
    assert.equal(none, 0, name);
    assert.ok(first + second > 0, `${name}: ${first} and ${second}`);
    const [onCpu = NaN, zero, one = NaN] = of(name, 'mixed');
    assert.equal(zero, undefined);
    assert.ok(onCpu + one > 0, `${name}: ${onCpu} and ${one}`);
    assert.deepEqual(of(name, 'cpu').slice(1), [undefined, undefined]);
  }
  const total = (model: string): number =>
    of('nv_inference_request_success', model).reduce<number>((sum, count) => sum + (count ?? 0), 0);
  assert.deepEqual([total('every'), total('mixed'), total('cpu')], [4, 3, 1]);
  // Series of the version itself appear once.
  assert.deepEqual(of('nv_inference_pending_request_count', 'every'), [0, undefined, undefined]);

  assert.equal(series.get('nv_pinned_memory_pool_total_bytes'), 256 * 2 ** 20);
  for (const uuid of uuids) {
    const at = `{gpu_uuid="${uuid}"}`;
    assert.equal(series.get(`tritonts_gpu_memory_pool_total_bytes${at}`), 64 * 2 ** 20);
    const used = series.get(`tritonts_gpu_memory_pool_used_bytes${at}`) ?? 0;
    // Older runtimes do not report that they accept tensors in GPU memory.
    if (!skipBefore(23, 'tensors in the memory of GPUs')) assert.ok(used > 0, metrics);
  }
});

test('with two GPUs and the provider, each instance is where the configuration says', options, async () => {
  const { devices, models, providers } = onTwoGpus ?? assert.fail();
  const all = ['cpu', 'gpu:0', 'gpu:1'];
  assert.deepEqual(devices, [all, all]);
  for (const [name, instances] of Object.entries({
    auto: [instance('auto_0', 'KIND_GPU', 0), instance('auto_0', 'KIND_GPU', 1)],
    auto_listed: [instance('auto_listed_0_0', 'KIND_GPU', 1), instance('auto_listed_0_1', 'KIND_GPU', 1)],
    cpu: [instance('cpu_0_0', 'KIND_CPU', 0)],
    every: [
      instance('every_0_0', 'KIND_GPU', 0),
      instance('every_0_0', 'KIND_GPU', 1),
      instance('every_0_1', 'KIND_GPU', 0),
      instance('every_0_1', 'KIND_GPU', 1),
    ],
    mixed: [
      instance('mixed_0_0', 'KIND_GPU', 1),
      instance('mixed_1_0', 'KIND_CPU', 0),
      instance('mixed_1_1', 'KIND_CPU', 0),
    ],
    options: [instance('options_0_0', 'KIND_GPU', 0)],
    ...(withoutGraphs
      ? {}
      : {
          documented: [instance('documented_0_0', 'KIND_GPU', 0), instance('documented_0_0', 'KIND_GPU', 1)],
          graphs: [instance('graphs_0_0', 'KIND_GPU', 1), instance('graphs_0_1', 'KIND_GPU', 1)],
        }),
    tensorrt: [instance('tensorrt_0_0', 'KIND_GPU', 1)],
    no_capability: [instance('no_capability_0_0', 'KIND_GPU', 1)],
  })) {
    const told = models[name];
    assert.deepEqual([told?.state, told?.reason], ['READY', ''], name);
    assert.deepEqual(told?.instances, instances, name);
    assert.deepEqual(told.answers, answers(instances.length), name);
  }
  assert.match(models['options']?.notes.join() ?? '', /^[^,]*\["device_id"\]: accepted, without effect here/);
  assert.deepEqual(models['capability']?.answers, [[Array.from({ length: 16 }, () => 2)]]);
  // The GPUs take the one file and the CPU the other. Any of them may have run a request.
  assert.equal(models['two_files']?.state, 'READY', models['two_files']?.reason);
  for (const [i, answer] of models['two_files'].answers.entries()) {
    const [first] = (answer as number[][])[0] ?? [];
    assert.ok(first === i + 1 || first === i + 2, JSON.stringify(answer));
  }
  // There is one session for each model and GPU, and none for the CPU: auto, every, auto_listed, mixed; then
  // the models with options and files, two of which are refused only after that. TensorRT also gets a CUDA provider.
  const plain = (device: number): number => providers.filter((line) => line === `device_id=${device}`).length;
  assert.deepEqual([plain(0), plain(1)], [3, 10]);
  assert.deepEqual(providers.filter((line) => line.includes(' ')).sort(), [
    'device_id=0 arena_extend_strategy=kSameAsRequested cudnn_conv_algo_search=HEURISTIC ' +
      'do_copy_in_default_stream=0 gpu_mem_limit=1000 use_tf32=0',
    ...(withoutGraphs
      ? []
      : ['device_id=0 enable_cuda_graph=1', ...Array<string>(2).fill('device_id=1 enable_cuda_graph=1')]),
    'tensorrt device_id=1 trt_engine_cache_enable=1 ' +
      `trt_engine_cache_path=${await realpath(join(repository, 'tensorrt', '1'))} trt_fp16_enable=1 ` +
      'trt_max_workspace_size=1000',
  ]);
  for (const [name, reason] of Object.entries({
    ...(withoutGraphs ? { documented: withoutGraphs, graphs: withoutGraphs } : {}),
    third: /instance_group\[0\]\.gpus: no GPU with id 2; available are 0, 1$/,
    unknown_option: /the CUDA provider refuses an option: Unknown provider option/,
    no_file: /its file ninety\.onnx is not there: '.*no_file\/1' /,
    unlike_files:
      /the files of cc_model_filenames differ: input 'x': '.*\/1\/model\.onnx' has float32, and '.*\/1\/nine\.onnx' float64$/,
    no_precision: /parameters\["precision_mode"\]: expected FP32, FP16, BF16, INT8 but received 'FP12'$/,
    no_place: /parameters\["trt_engine_cache_enable"\]: also needs trt_engine_cache_path/,
    elsewhere:
      /parameters\["trt_engine_cache_path"\]: '\/etc' leads to '\/etc': expected a file in the model's folder/,
    wrong_number:
      /:7: parameters\["cudnn_conv_algo_search"\]: expected a whole number from 0 to 2 but received '3'$/,
  })) {
    assert.equal(models[name]?.state, 'UNAVAILABLE');
    assert.match(models[name].reason, reason);
  }
});

test("with instanceKind 'cpu' no instance is on a GPU", options, async () => {
  assert.ok(fakes);
  const { devices, models, providers } = await fakes.serve({}, { repository, instanceKind: 'cpu' });
  assert.deepEqual(devices, [['cpu'], ['cpu']]);
  assert.deepEqual(providers, []);
  for (const [name, { state, instances }] of Object.entries(models)) {
    assert.equal(state, 'READY', name);
    for (const { kind } of instances) assert.equal(kind, 'KIND_CPU', name);
  }
});

test(
  'without the provider KIND_AUTO means the CPU, and KIND_GPU fails naming the file',
  options,
  async () => {
    assert.ok(fakes);
    const { devices, models, folder } = await fakes.serve({ provider: false }, { repository });
    assert.deepEqual(devices, [['cpu'], ['cpu']]);
    assert.deepEqual(models['auto']?.instances, [instance('auto_0', 'KIND_CPU', 0)]);
    assert.match(
      models['auto_listed']?.reason ?? '',
      /KIND_CPU must not list GPUs .*KIND_AUTO means KIND_CPU/,
    );
    const { state, reason = '' } = models['every'] ?? {};
    assert.equal(state, 'UNAVAILABLE');
    assert.ok(reason.includes(`there is no ${providerFiles[0]} in '${folder}'`), reason);
    assert.doesNotMatch(reason, /there is no GPU to use/);
  },
);

test(
  'without a GPU KIND_AUTO means the CPU, and KIND_GPU fails with what the driver says',
  options,
  async () => {
    assert.ok(fakes);
    const { models } = await fakes.serve({ gpus: 0 }, { repository });
    assert.deepEqual(models['auto']?.answers, answers(1));
    const { state, reason = '' } = models['mixed'] ?? {};
    assert.equal(state, 'UNAVAILABLE');
    assert.match(
      reason,
      /KIND_GPU, but there is no GPU to use: the CUDA driver libcuda\.so\.1 offers no GPU/,
    );
    assert.match(reason, /To use the CPU: instanceKind: 'cpu'$/);
  },
);

test('a provider that cannot be loaded makes a model UNAVAILABLE, with its reason', options, async () => {
  assert.ok(fakes);
  const providerError = 'libcudnn.so.9: cannot open shared object file';
  const { models } = await fakes.serve({ providerError }, { repository });
  const { state, reason = '' } = models['every'] ?? {};
  assert.equal(state, 'UNAVAILABLE');
  assert.ok(reason.includes(`CUDA provider can't be used on GPU 0: ${providerError}`), reason);
  assert.match(reason, /instanceKind: 'cpu' runs the model on the CPU$/);
  assert.equal(models['cpu']?.state, 'READY');
});

test(
  'a GPU of a lower compute capability than the least is left out, and refused by name',
  options,
  async () => {
    assert.ok(fakes);
    const machine = { gpus: 3, capabilities: '9.0,5.2,12.1' };
    const { devices, models } = await fakes.serve(machine, { repository });
    const all = ['cpu', 'gpu:0', 'gpu:2'];
    assert.deepEqual(devices, [all, all]);
    assert.deepEqual(
      models['every']?.instances.map(({ device }) => device),
      [0, 2, 0, 2],
    );
    const old =
      'GPU 1 cannot be used: Fake GPU 1 has compute capability 5.2, and minSupportedComputeCapability is 6.0';
    assert.ok(models['mixed']?.reason.endsWith(`instance_group[0].gpus: ${old}; available are 0, 2`));
    assert.ok(
      models['auto_listed']?.reason.endsWith(
        `must not list GPUs but found [1] (KIND_AUTO means KIND_CPU here: ${old})`,
      ),
    );
    const newest = await fakes.serve(machine, { repository, minSupportedComputeCapability: 12.1 });
    assert.deepEqual(newest.devices[0], ['cpu', 'gpu:2']);
    const none = await fakes.serve(machine, { repository, minSupportedComputeCapability: 13 });
    assert.deepEqual(none.devices[0], ['cpu']);
    assert.equal(none.models['auto']?.instances[0]?.kind, 'KIND_CPU');
    assert.match(
      none.models['every']?.reason ?? '',
      /KIND_GPU, but there is no GPU to use: GPU 0: Fake GPU 0 has compute capability 9\.0, and .* 13\.0; GPU 1: /,
    );
  },
);

test(
  'a GPU that is lost is left out with what the driver says, and the other one is used',
  options,
  async () => {
    assert.ok(fakes);
    const { devices, models } = await fakes.serve({ lost: 0 }, { repository });
    assert.deepEqual(devices[0], ['cpu', 'gpu:1']);
    assert.equal(models['mixed']?.state, 'READY');
    assert.ok(
      models['options']?.reason.endsWith(
        'GPU 0 cannot be used: cuDeviceGetName failed with 79; available are 1',
      ),
    );
  },
);

test(
  'the survey of a machine tells of runtimes and GPUs, and metrics what the GPUs do',
  options,
  async () => {
    assert.ok(fakes);
    const { survey, metrics, silent } = await fakes.survey({ capabilities: '9.0,5.2' }, repository);
    const onnx = survey.backends.find(({ name }) => name === 'onnxruntime');
    assert.deepEqual(
      [onnx?.ok, onnx?.runtime, onnx?.onGpus, onnx?.lacksOnGpus],
      [true, 'ONNX Runtime', true, ''],
    );
    assert.match(onnx?.library?.version ?? '', /^1\.\d+\.\d+$/);
    assert.deepEqual(
      [survey.cudaDriver.ok, survey.cudaDriver.version, survey.nvml.version],
      [true, 'CUDA 13.0', '13.580.65, driver 580.65.06'],
    );
    assert.match(survey.cudaDriver.path, /libcuda\.so\.1$/);
    const gpus = survey.devices.slice(1).map(({ id, name, ok, computeCapability, memoryBytes }) => ({
      ...{ id, name, ok, computeCapability },
      gib: memoryBytes / 2 ** 30,
    }));
    assert.deepEqual(gpus, [
      { id: 'gpu:0', name: 'Fake GPU 0', ok: true, computeCapability: '9.0', gib: 8 },
      { id: 'gpu:1', name: 'Fake GPU 1', ok: false, computeCapability: '5.2', gib: 16 },
    ]);
    const uuid = '{gpu_uuid="GPU-00102030-4050-6070-8090-a0b0c0d0e0f0"}';
    const energy = metrics.find((line) => line.startsWith('nv_energy_consumption'));
    assert.ok(energy?.startsWith(`nv_energy_consumption${uuid} `));
    assert.equal(Number(energy?.split(' ')[1]) % 3, 0);
    assert.deepEqual(
      metrics.filter((line) => line !== energy),
      [
        `nv_gpu_utilization${uuid} 0.25`,
        `nv_gpu_memory_total_bytes${uuid} ${8 * 2 ** 30}`,
        `nv_gpu_memory_used_bytes${uuid} ${2 ** 30}`,
        `nv_gpu_power_usage${uuid} 61.5`,
        `nv_gpu_power_limit${uuid} 300`,
      ],
    );
    assert.equal(silent, 0);
  },
);

test('tritonts backends lists what is there, and what to install for the rest', options, async () => {
  assert.ok(fakes);
  const found = await fakes.run({ capabilities: '9.0,5.2' }, 'backends');
  assert.match(
    found,
    /^ok {5} onnxruntime: ONNX Runtime 1\.\d+\.\d+, on GPUs, too\n {10}\/.*libonnxruntime\.so\.1$/m,
  );
  assert.match(found, /^ok {5} identity: needs no runtime$/m);
  assert.match(found, /^ok {5} javascript: Node\.js \d+/m);
  assert.match(found, /^ok {5} CUDA driver: CUDA 13\.0\n {10}\/.*libcuda\.so\.1$/m);
  assert.match(found, /^ok {5} NVML: 13\.580\.65, driver 580\.65\.06$/m);
  assert.match(found, /^ok {5} cpu: .*, \d+ cores?, \d+\.\d GiB$/m);
  assert.match(
    found,
    /^ok {5} gpu:0: Fake GPU 0, compute capability 9\.0, 8\.0 GiB, GPU-00102030-4050-6070-8090-a0b0c0d0e0f0$/m,
  );
  assert.match(found, /^UNUSED {2}gpu:1: Fake GPU 1, .*\n {10}Fake GPU 1 has compute capability 5\.2, and/m);
  const old = await fakes.run(
    { capabilities: '9.0,5.2' },
    'backends',
    '--min-supported-compute-capability',
    '5.2',
  );
  assert.match(old, /^ok {5} gpu:1: /m);
  const without = await fakes.run({ gpus: 0, provider: false }, 'backends');
  assert.match(
    without,
    /^ {10}on the CPU only: there is no libonnxruntime_providers_cuda\.so in '.*install a GPU build/m,
  );
  assert.match(without, /^MISSING CUDA driver\n {10}the CUDA driver libcuda\.so\.1 offers no GPU/m);
});
