import assert from 'node:assert/strict';
import test from 'node:test';
import { findUnsupported } from '../../../src/config/support/unsupported.js';
import { backends, whole } from '../helpers.js';

const onGpu = 'instance_group { kind: KIND_GPU }';

function accelerated(list: 'gpu' | 'cpu', accelerator: string, more = ''): string {
  return `backend: "onnxruntime" optimization { execution_accelerators { ${list}_execution_accelerator { ${accelerator} } } } ${more}`;
}

const classified = (text: string): { problems: string[]; notes: readonly string[] } => {
  const config = whole(text);
  const onGpu = config.instance_group.some(({ kind }) => kind === 'KIND_GPU');
  const { problems, notes } = findUnsupported(config, backends.get(config.backend), onGpu);
  return { problems: problems.map(({ code, path, text }) => `${code} ${path}: ${text}`), notes };
};

const cuda = (key: string, value = '1'): string =>
  accelerated('gpu', `name: "cuda" parameters { key: "${key}" value: "${value}" }`, onGpu);

for (const [list, name, more] of [
  ['cpu', 'openvino', ''],
  ['cpu', 'openvino', onGpu],
] as const) {
  test(`${list} accelerator ${name} is refused by name ${more}`, () => {
    const { problems } = classified(accelerated(list, `name: "${name}"`, more));
    const path = `optimization.execution_accelerators.${list}_execution_accelerator[0].name`;
    assert.equal(problems.length, 1);
    assert.ok(problems[0]?.startsWith(`UNSUPPORTED ${path}: "${name}" is not supported: `), problems[0]);
  });
}

for (const [list, name, said] of [
  ['gpu', 'cdua', 'unknown accelerator "cdua" (did you mean cuda?); Triton has cuda, tensorrt'],
  ['gpu', 'openvino', 'unknown accelerator "openvino"; Triton has cuda, tensorrt'],
  ['cpu', 'cuda', 'unknown accelerator "cuda"; Triton has openvino'],
  ['cpu', '__proto__', 'unknown accelerator "__proto__"; Triton has openvino'],
] as const) {
  test(`${list} accelerator ${name} is wrong`, () => {
    const path = `optimization.execution_accelerators.${list}_execution_accelerator[0].name`;
    assert.deepEqual(classified(accelerated(list, `name: "${name}"`, onGpu)).problems, [
      `INVALID_ARG ${path}: ${said}`,
    ]);
  });
}

test('an unknown accelerator of GPU instances is a hint without one, as in Triton', () => {
  const { problems, notes } = classified(accelerated('gpu', 'name: "cdua"'));
  assert.deepEqual(problems, []);
  assert.match(
    notes.join(),
    /gpu_execution_accelerator\[0\]: .*: unknown accelerator "cdua" \(did you mean cuda\?\)/,
  );
});

const tensorrt = (key: string, value = '1'): string =>
  accelerated('gpu', `name: "tensorrt" parameters { key: "${key}" value: "${value}" }`, onGpu);

test('the accelerators of GPUs are acted on with an instance on a GPU', () => {
  for (const text of [
    accelerated('gpu', 'name: "cuda"', onGpu),
    cuda('use_tf32'),
    cuda('gpu_mem_limit'),
    cuda('enable_cuda_graph'),
    accelerated('gpu', 'name: "tensorrt"', onGpu),
    tensorrt('precision_mode', 'FP16'),
    tensorrt('trt_engine_cache_enable'),
    tensorrt('trt_cuda_graph_enable', '0'),
  ])
    assert.deepEqual(classified(text), { problems: [], notes: [] });
});

for (const name of ['cuda', 'tensorrt'])
  test(`accelerator ${name} is a hint without one`, () => {
    const { problems, notes } = classified(accelerated('gpu', `name: "${name}"`));
    assert.deepEqual(problems, []);
    assert.match(
      notes.join(),
      /gpu_execution_accelerator\[0\]: accepted, without effect here: .* there are none$/,
    );
  });

test('the GPU of an accelerator is that of the instance, which is noted', () => {
  const { problems, notes } = classified(cuda('device_id', '3'));
  assert.deepEqual(problems, []);
  assert.match(
    notes.join(),
    /parameters\["device_id"\]: accepted, without effect here: the GPU is the instance's/,
  );
});

for (const key of ['user_compute_stream', 'gpu_external_alloc']) {
  test(`option ${key} of accelerator cuda is refused`, () => {
    const { problems } = classified(cuda(key));
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? '', new RegExp(`^UNSUPPORTED .*\\["${key}"\\]: "1" is not supported: `));
  });
}

test('option enable_cuda_graph of accelerator cuda may say what is the case', () => {
  assert.deepEqual(classified(cuda('enable_cuda_graph', '0')).problems, []);
});

test('another backend has no accelerators, which is noted', () => {
  const { problems, notes } = classified(
    accelerated('gpu', 'name: "tensorrt"').replace('onnxruntime', 'identity'),
  );
  assert.deepEqual(problems, []);
  assert.match(notes.join(), /gpu_execution_accelerator\[0\]: .*: the identity backend has no accelerators$/);
});

const limit = 'backend: "onnxruntime" parameters { key: "gpu_mem_limit" value { string_value: "1e9" } }';

test("Triton's CUDA parameters are checked with an instance on a GPU, and hints without one", () => {
  assert.deepEqual(classified(`${limit} ${onGpu}`).problems, [
    'INVALID_ARG parameters["gpu_mem_limit"]: expected an integer but found "1e9"',
  ]);
  assert.deepEqual(classified(limit).problems, []);
  assert.match(
    classified(limit).notes.join(),
    /^parameters\["gpu_mem_limit"\]: accepted, without effect here/,
  );
});

test('files by compute capability have their effect with an instance on a GPU, and are hints without one', () => {
  const files = 'cc_model_filenames { key: "8.6" value: "a.onnx" }';
  assert.deepEqual(classified(`${files} ${onGpu}`), { problems: [], notes: [] });
  assert.match(classified(files).notes.join(), /^cc_model_filenames: accepted, without effect here/);
});

for (const key of [
  'trt_cuda_graph_enable',
  'trt_dump_subgraphs',
  'user_compute_stream',
  'trt_onnx_bytestream',
]) {
  test(`option ${key} of accelerator tensorrt is refused`, () => {
    const { problems } = classified(tensorrt(key));
    assert.equal(problems.length, 1);
    assert.match(
      problems[0] ?? '',
      new RegExp(`^UNSUPPORTED .*parameters\\["${key}"\\]: "1" is not supported`),
    );
  });
}
