/**
 * Plans of TensorRT, as far as they can be tested without a GPU: driver and TensorRT are fakes. The fake driver
 * ends the process if it is called on the main thread, or if the CPU reads device memory.
 */

// Long: it starts many processes.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test, { after } from 'node:test';
import { temporaryFolder, writeRepository, type RepositoryModel } from '../support/repository.js';
import { fakeGpus, type FakeGpus } from './fake-gpus.js';

const fakes = await fakeGpus({ after });
const options = { skip: fakes ? false : 'needs Linux' };

const plan = `fake-plan 10
op add
input x 0 0 0 -1 16
output y 0 0 0 -1 16
profile x 1 16 4 16 8 16
`;

/** The plan with a second profile, for 4 to 64 rows; y is x plus the number of the profile. */
const profiles = plan.replace('op add', 'op profile') + 'profile x 4 16 32 16 64 16\n';

/** y has the rows of x that begin with a number above 0. */
const positive = `fake-plan 10
op positive
input x 0 0 0 1 16
output y 0 0 0 -1 16
`;

const compatible = plan.replace('fake-plan 10', 'fake-plan 9 compatible');

/** A model y = x + 1 of a plan that takes up to 8 rows. */
function model(config: string, content = plan): RepositoryModel {
  return { config, versions: { '1': { 'model.plan': content } } };
}

/** A model whose instances on GPUs of compute capability 8.6 take the file `named`; `other.plan` is there. */
function twoFiles(named: string, other: string): RepositoryModel {
  return {
    config: `platform: "tensorrt_plan" cc_model_filenames { key: "8.6" value: "${named}" }`,
    versions: { '1': { 'model.plan': plan, 'other.plan': other } },
  };
}

/** An ensemble of models in sequence. */
function chain(...models: readonly string[]): RepositoryModel {
  const tensor = (at: number): string => (at === 0 ? 'x' : at === models.length ? 'y' : `t${at}`);
  const steps = models.map(
    (name, i) => `step { model_name: "${name}" model_version: -1
      input_map { key: "x" value: "${tensor(i)}" } output_map { key: "y" value: "${tensor(i + 1)}" } }`,
  );
  return {
    config: `platform: "ensemble" max_batch_size: 8
      input { name: "x" data_type: TYPE_FP32 dims: 16 } output { name: "y" data_type: TYPE_FP32 dims: 16 }
      ensemble_scheduling { ${steps.join(' ')} }`,
    versions: { '1': {} },
  };
}

/** The configurations in docs/gpu.md: of a plan, and of its graphs. */
const [documented, documentedGraphs] = [
  ...(await readFile(new URL('../../../docs/gpu.md', import.meta.url), 'utf8')).matchAll(
    /\n## Plans of TensorRT.*?```protobuf\n(.*?)```.*?### CUDA graphs.*?```protobuf\n(.*?)```/gs,
  ),
].flatMap(([, ...texts]) => texts);
assert.ok(documented !== undefined && documentedGraphs !== undefined);

const repository = await writeRepository(await temporaryFolder({ after }), {
  auto: model(documented),
  two: model('backend: "tensorrt" max_batch_size: 8 instance_group { kind: KIND_GPU gpus: 1 count: 2 }'),
  rows: model('platform: "tensorrt_plan" max_batch_size: 9'),
  cpu: model('platform: "tensorrt_plan" instance_group { kind: KIND_CPU }'),
  other: model('platform: "tensorrt_plan"', 'another version'),
  profile: model('platform: "tensorrt_plan" instance_group { kind: KIND_GPU profile: "1" }'),
  whole: model('instance_group { kind: KIND_GPU gpus: 0 }'),
  second: model('instance_group { kind: KIND_GPU gpus: 0 profile: [ "1", "0" ] }', profiles),
  graphs: model(
    `platform: "tensorrt_plan" max_batch_size: 8 instance_group { kind: KIND_GPU gpus: 0 } ${documentedGraphs}`,
  ),
  preferred: model(
    `platform: "tensorrt_plan" max_batch_size: 8 instance_group { kind: KIND_GPU gpus: 0 }
      dynamic_batching { preferred_batch_size: 5 } optimization { cuda { graphs: true output_copy_stream: true } }`,
  ),
  unfit: model(
    `platform: "tensorrt_plan" max_batch_size: 8 instance_group { kind: KIND_GPU gpus: 0 } optimization { cuda {
      graphs: true graph_spec { batch_size: 9 } } }`,
  ),
  unbounded: model(
    `platform: "tensorrt_plan" max_batch_size: 8 instance_group { kind: KIND_GPU gpus: 0 } optimization { cuda {
      graphs: true graph_spec { batch_size: 4 input { key: "x" value { dim: 16 } }
      graph_lower_bound { batch_size: 2 input { key: "x" value { dim: 17 } } } } } }`,
  ),
  varying: model('instance_group { kind: KIND_GPU gpus: 0 count: 2 }', positive),
  without_lean: model(
    'instance_group { kind: KIND_GPU gpus: 0 }',
    compatible.replace('compatible', 'compatible without-lean'),
  ),
  compatible: model('instance_group { kind: KIND_GPU gpus: 0 }', compatible),
  two_files: twoFiles('other.plan', plan.replace('x 1 16 4 16 8 16', 'x 1 16 4 16 6 16')),
  unlike_files: twoFiles('other.plan', plan.replace('output y', 'output z')),
  no_file: twoFiles('nosuch.plan', plan),
  chain_on_one: chain('whole', 'preferred', 'whole'),
  chain_on_two: chain('whole', 'two', 'auto'),
});

const answers = (count: number): number[][][] =>
  Array.from({ length: count }, (_, i) => [Array.from({ length: 16 }, () => i + 1)]);

/** What the models of the repository do on two GPUs. A process tells it to all tests that change nothing of the machine. */
let plain: ReturnType<FakeGpus['serve']> | undefined;
const onTwoGpus = (machine: FakeGpus): ReturnType<FakeGpus['serve']> =>
  (plain ??= machine.serve({}, { repository, tensorrt: machine.tensorrt }));

test('a plan is served on each GPU, with a config that is completed from it', options, async () => {
  assert.ok(fakes);
  const { devices, models } = await onTwoGpus(fakes);
  assert.deepEqual(devices[0], ['cpu', 'gpu:0', 'gpu:1']);
  for (const [name, gpus] of [
    ['auto', [0, 1]],
    ['two', [1, 1]],
  ] as const) {
    const told = models[name];
    assert.deepEqual([told?.state, told?.reason], ['READY', ''], name);
    assert.deepEqual(
      told?.instances.map(({ kind, device }) => [kind, device]),
      gpus.map((gpu) => ['KIND_GPU', gpu]),
    );
    assert.deepEqual(told.answers, answers(2), name);
  }
  assert.match(
    models['auto']?.notes.join('\n') ?? '',
    /input\[0\]: completed from the model: "x", TYPE_FP32/,
  );
});

test('the GPUs of a version have the plans of their compute capabilities', options, async () => {
  assert.ok(fakes);
  const machine = { capabilities: '9.0,8.6' };
  const { models } = await fakes.serve(machine, { repository, tensorrt: fakes.tensorrt });
  const told = models['two_files'];
  assert.deepEqual([told?.state, told?.reason], ['READY', '']);
  assert.deepEqual(told?.answers, answers(2));
  assert.match(told.notes.join('\n'), /max_batch_size: completed to 6, the most rows/);
  for (const [name, reason] of Object.entries({
    unlike_files: /differ: output 'z': '.*\/1\/model\.plan' has none, and '.*\/1\/other\.plan' has it$/,
    no_file: /its file nosuch\.plan is not there/,
  })) {
    assert.equal(models[name]?.state, 'UNAVAILABLE', name);
    assert.match(models[name].reason, reason);
  }
  // On GPUs of one kind, one file is read.
  const alike = await onTwoGpus(fakes);
  assert.match(alike.models['two_files']?.notes.join('\n') ?? '', /max_batch_size: completed to 8/);
  assert.equal(alike.models['unlike_files']?.state, 'READY');
});

test('files of a load, and changed files, count for the GPUs that take them', options, async () => {
  assert.ok(fakes);
  const { missing, given, changed } = await fakes.reload({ capabilities: '9.0,8.6' });
  assert.match(missing, /there is no file '1\/other\.plan' among those given$/);
  assert.deepEqual(given, [6, 6]);
  assert.deepEqual(changed, [8, 5, 5, 7]);
});

test('ensembles of plans, on one GPU and on two', options, async () => {
  assert.ok(fakes);
  const { models } = await onTwoGpus(fakes);
  for (const name of ['chain_on_one', 'chain_on_two']) {
    assert.deepEqual([models[name]?.state, models[name]?.reason], ['READY', ''], name);
    assert.deepEqual(models[name]?.answers, [[Array.from({ length: 16 }, () => 3)]], name);
  }
});

test('plans and configurations that cannot be served say why', options, async () => {
  assert.ok(fakes);
  const { models } = await onTwoGpus(fakes);
  for (const [name, reason] of Object.entries({
    rows: /max_batch_size: is 9, but a batch of the model has at most 8 rows/,
    cpu: /plans run on GPUs only/,
    other: /TensorRT 10\.16\.1 can't read the plan.*magicTag/,
    profile: /instance_group has profile 1, but the plan has 1, counted from 0/,
    compatible: /set version-compatible in backendConfig\.tensorrt/,
  })) {
    assert.equal(models[name]?.state, 'UNAVAILABLE', name);
    assert.match(models[name].reason, reason);
  }
});

test(
  'CUDA graphs are recorded for the shapes of the config, and refused where they cannot be',
  options,
  async () => {
    assert.ok(fakes);
    const { models } = await onTwoGpus(fakes);
    for (const name of ['graphs', 'preferred']) {
      const told = models[name];
      assert.ok(told);
      assert.deepEqual([told.state, told.reason], ['READY', ''], name);
      assert.deepEqual(told.answers, answers(1), name);
      assert.doesNotMatch(told.notes.join('\n'), /optimization/, name);
    }
    for (const [name, reason] of Object.entries({
      unfit: /optimization\.cuda\.graph_spec\[0\]\.batch_size: expected 1 to 8 but received 9/,
      unbounded: /graph_spec\[0\]\.graph_lower_bound\.input\['x'\]: expected as many dims/,
    })) {
      assert.equal(models[name]?.state, 'UNAVAILABLE', name);
      assert.match(models[name].reason, reason);
    }
  },
);

test('without a GPU the error of a plan has the reason', options, async () => {
  assert.ok(fakes);
  const { models } = await fakes.serve({ gpus: 0 }, { repository, tensorrt: fakes.tensorrt });
  const auto = models['auto'];
  assert.equal(auto?.state, 'UNAVAILABLE');
  assert.match(
    auto.reason,
    /plans run on GPUs only, and there is no GPU to use: the CUDA driver .* offers no GPU \(CUDA_VISIBLE_DEVICES/,
  );
});

test(
  'the batch size, profiles and outputs whose shapes depend on data are those of the plan',
  options,
  async () => {
    assert.ok(fakes);
    const { models } = await onTwoGpus(fakes);
    const notes = (name: string): string => models[name]?.notes.join('\n') ?? '';
    assert.match(
      notes('whole'),
      /max_batch_size: completed to 8, the most rows .*\n.*\n.*\ndynamic_batching: added/,
    );
    assert.match(notes('second'), /max_batch_size: completed to 64/);
    // A request of one row uses the first profile.
    assert.deepEqual(models['second']?.answers, [[Array.from({ length: 16 }, () => 0)]]);
    assert.match(
      notes('varying'),
      /max_batch_size: completed to 0, because the first dimension of "x", \[1,16\]/,
    );
    assert.deepEqual(models['varying']?.answers, [[], [Array.from({ length: 16 }, () => 1)]]);
  },
);

test('version-compatible plans are read where the options say so', options, async () => {
  assert.ok(fakes);
  for (const policy of ['DEVICE_BLOCKING', 'BLOCKING']) {
    const tensorrtOptions = { 'version-compatible': true, 'execution-policy': policy };
    const { models } = await fakes.serve({}, { repository, tensorrt: fakes.tensorrt, tensorrtOptions });
    assert.deepEqual(models['compatible']?.answers, answers(1));
  }
});

test('a lean runtime that is missing fails the plans that need it, and no others', options, async () => {
  assert.ok(fakes);
  const tensorrtOptions = { 'version-compatible': true, 'lean-runtime': '/nowhere/libnvinfer_lean.so.9' };
  const { models } = await fakes.serve({}, { repository, tensorrt: fakes.tensorrt, tensorrtOptions });
  assert.equal(models['compatible']?.state, 'READY');
  assert.match(
    models['without_lean']?.reason ?? '',
    /can't load the lean runtime \/nowhere\/libnvinfer_lean\.so\.9 .*: Unable to load library/,
  );
});

test('options of TensorRT that make no sense, or are not there, fail the load', options, async () => {
  assert.ok(fakes);
  const { tensorrt } = fakes;
  const wrong = [
    [
      'version-compatible',
      'perhaps',
      /expected true or false for backendConfig\.tensorrt\['version-compatible'\]/,
    ],
    [
      'lean-runtime',
      'libnvinfer_lean.so.10',
      /backendConfig\.tensorrt\['lean-runtime'\] also needs version-compatible: true/,
    ],
    [
      'execution-policy',
      'SEMI',
      /expected DEVICE_BLOCKING or BLOCKING for backendConfig\.tensorrt\['execution-policy'\] but received 'SEMI'/,
    ],
    [
      'plugins',
      '/nowhere/libplugin.so',
      /the library of plugins \/nowhere\/libplugin\.so .* can't be opened/,
    ],
  ] as const;
  await Promise.all(
    wrong.map(async ([key, value, reason]) => {
      const { models } = await fakes.serve({}, { repository, tensorrt, tensorrtOptions: { [key]: value } });
      assert.match(models['whole']?.reason ?? '', reason);
    }),
  );
});

test('without TensorRT the error says where it was looked for', options, async () => {
  assert.ok(fakes);
  const { models } = await fakes.serve({}, { repository });
  const reason = models['two']?.reason ?? '';
  assert.match(
    reason,
    /none of libnvinfer\.so\.11, libnvinfer\.so\.10, .* is in .*\/etc\/ld\.so\.cache, .*\/usr\/lib64.*backendConfig\.tensorrt\.library/,
  );
});
