import assert from 'node:assert/strict';
import test from 'node:test';
import { validateConfig } from '../../../src/config/rules/validate.js';
import { backends, gpus, normalized, reported, whole } from '../helpers.js';

/** The faults of a configuration of model `m` with the text added. */
function faults(text: string, gpuCount = 0): string[] {
  const config = normalized(`name: "m" ${text}`, gpuCount);
  const context = { modelName: 'm', gpus: gpus(gpuCount), rules: backends.get(config.backend) };
  return reported((report) => {
    validateConfig(config, context, report);
  });
}

/** A text with a pattern for each of its faults. Without patterns, Triton loads it. */
type Case = readonly [text: string, ...patterns: RegExp[]];

function check(cases: readonly Case[], prefix = ''): void {
  for (const [text, ...patterns] of cases) {
    test(`${text} ${patterns.length === 0 ? 'is valid' : 'is refused'}`, () => {
      const found = faults(`${prefix} ${text}`);
      assert.equal(found.length, patterns.length, found.join('\n'));
      patterns.forEach((pattern, index) => {
        assert.match(found[index] ?? '', pattern);
      });
    });
  }
}

check([
  ['backend: "identity"'],
  ['backend: "identity" platform: "anything"'],
  ['backend: "python" platform: "onnxruntime_onnx"'],
  ['backend: "onnxruntime" platform: "onnxruntime_onnx"'],
  ['backend: "pytorch" platform: "torch_aoti"'],
  [
    'backend: "onnxruntime" platform: "tensorrt_plan"',
    /^INVALID_ARG platform: unexpected pair .*"tensorrt_plan" and backend "onnxruntime".*is onnxruntime_onnx/,
  ],
  [
    'backend: "pytorch" platform: "libtorch"',
    /platform: unexpected pair .* is pytorch_libtorch or torch_aoti/,
  ],
  ['backend: "tensorflow"', /backend: unexpected pair of platform ""/],
  ['platform: "caffe"', /^INVALID_ARG platform: unexpected platform "caffe".*onnxruntime_onnx/],
  ['default_model_filename: "net.onnx"', /^INVALID_ARG backend: missing: default_model_filename "net.onnx"/],
  [
    'platform: "ensemble" backend: "onnxruntime" ',
    /backend: an ensemble has no backend/,
    /ensemble_scheduling: missing/,
  ],
]);

check(
  [
    ['max_batch_size: 0'],
    ['max_batch_size: -1', /^INVALID_ARG max_batch_size: expected 0 \(no batching\) or more but found -1/],
    ['response_cache { enable: true }'],
    ['response_cache { enable: true } sequence_batching { }', /response_cache\.enable: a sequence model/],
    [
      'response_cache { enable: true } model_transaction_policy { decoupled: true }',
      /response_cache\.enable: a decoupled model/,
    ],
    ['instance_group { count: 0 } instance_group { host_policy: "nowhere" }'],
    [
      'instance_group { count: 1 } instance_group { count: -1 }',
      /^INVALID_ARG instance_group\[1\]\.count: expected 1 or more, or 0 for the default, but found -1$/,
    ],
    [
      'instance_group { count: -2147483648 } instance_group { count: 1025 }',
      /instance_group: expected at most 1024 instances in all but found 1025/,
      /instance_group\[0\]\.count: .*found -2147483648$/,
    ],
    [
      'instance_group { gpus: [ -1 ] }',
      /gpus: instances of KIND_CPU must not list GPUs/,
      /^INVALID_ARG instance_group\[0\]\.gpus\[0\]: expected the id of a GPU, 0 or more, but found -1$/,
    ],
    [
      'instance_group { secondary_devices { kind: KIND_NVDLA device_id: -1 } }',
      /instance_group\[0\]\.secondary_devices\[0\]\.device_id: expected the id of a device, 0 or more, but found -1$/,
    ],
    ['instance_group { count: 1000 } instance_group { count: 24 }'],
    [
      'instance_group { count: 1000 } instance_group { count: 25 }',
      /instance_group: expected at most 1024 instances in all but found 1025/,
    ],
    ['instance_group { count: 2147483647 }', /instance_group: expected at most 1024 .* found 2147483647/],
    [
      `instance_group { kind: KIND_CPU gpus: [ ${'0, '.repeat(99)}0 ] }`,
      /but found \[(0,){32}… 100 in all\]/,
    ],
    [
      'instance_group { kind: KIND_CPU gpus: 0 }',
      /instance_group\[0\]\.gpus: instances of KIND_CPU must not list GPUs but found \[0\]/,
    ],
    ['instance_group { kind: KIND_MODEL gpus: 0 }', /instances of KIND_MODEL must not list/],
    ['instance_group { gpus: [ 0, 1 ] }', /instance_group\[0\]\.gpus: .*\[0,1\] \(KIND_AUTO means KIND_CPU/],
    ['instance_group { kind: KIND_GPU }', /^UNAVAILABLE instance_group\[0\]\.kind: KIND_GPU, but/],
    [
      'instance_group { profile: "0" }',
      /instance_group\[0\]\.profile: only models of platform tensorrt_plan/,
    ],
    [
      'instance_group { profile: "a" }',
      /only models/,
      /profile\[0\]: expected a profile's index .* found "a"/,
    ],
    [
      'model_metrics { metric_control { metric_identifier { family: "f" } histogram_options { buckets: 1 } } }',
    ],
    [
      'model_metrics { metric_control { } }',
      /metric_control\[0\]\.metric_identifier\.family: missing/,
      /histogram_options\.buckets: missing/,
    ],
    ['model_warmup { inputs { key: "x" value { data_type: TYPE_FP32 dims: 1 zero_data: false } } }'],
    [
      'model_warmup { inputs { key: "x" value { dims: -1 } } }',
      /model_warmup\[0\]\.inputs\["x"\]\.data_type: missing/,
      /dims: a sample has a fixed shape but found \[-1\]/,
      /inputs\["x"\]: write one of/,
    ],
    ['output { name: "y" data_type: TYPE_FP32 dims: 1 label_filename: "a/../b.txt" }'],
    ['output { name: "y" data_type: TYPE_FP32 dims: 1 label_filename: "/labels.txt" }'],
    [
      'output { name: "y" data_type: TYPE_FP32 dims: 1 label_filename: "../b.txt" }',
      /^UNSUPPORTED output\[0\]\.label_filename: "\.\.\/b\.txt" leads out/,
    ],
    ['default_model_filename: "nets/../model.bin"'],
    ['default_model_filename: ".."', /^UNSUPPORTED default_model_filename: "\.\." leads out of the version/],
    [
      'cc_model_filenames { key: "9.0" value: "../a.onnx" }',
      /^UNSUPPORTED cc_model_filenames\["9\.0"\]: "\.\.\/a\.onnx" leads out of the version/,
    ],
    ['default_model_filename: "a/../../2/x"', /default_model_filename: .* leads out/],
    ['runtime: "a/../../x.so"', /runtime: .* leads out/],
    [
      'parameters { key: "inline" value { string_value: "20ms" } }',
      /^INVALID_ARG parameters\["inline"\]: expected 'auto', 'off' or 1 to 10000 microseconds but found "20ms"/,
    ],
    [
      'parameters { key: "batch_across_shapes" value { string_value: "no" } }',
      /^INVALID_ARG parameters\["batch_across_shapes"\]: expected 'true' or 'false' but found "no"/,
    ],
    [
      'parameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: "x.so" } } sequence_batching { }',
      /^INVALID_ARG parameters\["TRITON_BATCH_STRATEGY_PATH"\]: a sequence model/,
    ],
    [
      'parameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: "../x.so" } }',
      /leads out of the model's directory/,
    ],
  ],
  'backend: "identity"',
);

test('a name other than the directory is refused', () => {
  const context = { modelName: 'dir', gpus: gpus(0), rules: undefined };
  const wrong = reported((report) => {
    validateConfig(normalized('name: "m" backend: "identity"'), context, report);
  });
  assert.match(
    wrong.join(),
    /^INVALID_ARG name: unexpected name "m": it must be that of the model's directory, "dir"/,
  );
});

test('a GPU that is not there is refused with the ids that are', () => {
  const found = faults('backend: "identity" instance_group { kind: KIND_GPU gpus: [ 0, 5 ] }', 2);
  assert.match(found.join(), /instance_group\[0\]\.gpus: no GPU with id 5; available are 0, 1$/);
});

test('a GPU that is there and cannot be used is refused with its reason', () => {
  const text = 'name: "dir" backend: "identity" instance_group { kind: KIND_GPU gpus: [ 0, 1, 7 ] }';
  const found = reported((report) => {
    validateConfig(
      whole(text),
      { modelName: 'dir', gpus: gpus(2, { 1: 'it is lost' }), rules: undefined },
      report,
    );
  });
  assert.match(found.join(), /gpus: no GPU with id 7; GPU 1 cannot be used: it is lost; available are 0, 2$/);
});

test('each GPU has its instances', () => {
  const found = faults('backend: "identity" instance_group { kind: KIND_GPU count: 513 }', 2);
  assert.match(
    found.join(),
    /^INVALID_ARG instance_group: expected at most 1024 instances in all but found 1026$/,
  );
});

test('GPUs that are there may be listed', () => {
  assert.deepEqual(faults('backend: "identity" instance_group { kind: KIND_GPU gpus: [ 1, 0 ] }', 2), []);
});

const tensor = 'name: "x" data_type: TYPE_FP32';
check(
  [
    [`input { ${tensor} dims: [ 1, -1 ] }`],
    [`input { ${tensor} dims: [ 1 ] } output { ${tensor} dims: [ 1 ] }`],
    [
      'input { }',
      /input\[0\]\.name: missing/,
      /input\[0\]\.data_type: missing/,
      /input\[0\]\.dims: missing: .* without the batch dimension/,
    ],
    [`output { ${tensor} }`, /output\[0\]\.dims: missing: write the shape of "x"/],
    [`input { ${tensor} dims: [ 3, 0 ] }`, /input\[0\]\.dims: expected dims of 1 or more.* found \[3,0\]/],
    [`output { ${tensor} dims: -2 }`, /output\[0\]\.dims: .* found \[-2\]/],
    [
      `input { ${tensor} dims: 1 } input { ${tensor} dims: 1 }`,
      /input\[1\]\.name: input\[0\] is named "x" too/,
    ],
    [
      `output { ${tensor} dims: 1 } output { ${tensor} dims: 1 }`,
      /output\[1\]\.name: output\[0\] is named "x" too/,
    ],
    [`input { ${tensor} format: FORMAT_NHWC dims: [ 1, 2, 3 ] }`],
    [
      `input { ${tensor} format: FORMAT_NCHW dims: [ 1, 2 ] }`,
      /input\[0\]\.dims: FORMAT_NCHW needs 3 dims but found \[1,2\]/,
    ],
    [
      `input { ${tensor} dims: 1 is_shape_tensor: true }`,
      /is_shape_tensor: only models of platform tensorrt_plan/,
    ],
    [
      `output { ${tensor} dims: [ 1, 2, 3 ] is_non_linear_format_io: true }`,
      /is_non_linear_format_io: only models/,
    ],
    [
      `input { ${tensor} dims: 1 is_non_linear_format_io: true }`,
      /only models/,
      /input\[0\]\.dims: .*needs 3 dims/,
    ],
    [`input { ${tensor} dims: 6 reshape { shape: [ 2, 3 ] } }`],
    [`input { ${tensor} dims: 1 reshape { } }`],
    [`input { ${tensor} dims: [ 2, -1, 6 ] reshape { shape: [ 1, 2, -1, 3, 2 ] } }`],
    [`input { ${tensor} dims: [ -1, -1, 6 ] reshape { shape: [ -1, 1, -1, 6 ] } }`],
    [
      `input { ${tensor} dims: 6 reshape { shape: [ 2, 2 ] } }`,
      /input\[0\]\.reshape: dims \[6\] and reshape \[2,2\] differ in size: 6 and 4/,
    ],
    [`input { ${tensor} dims: 2 reshape { } }`, /differ in size: 2 and 1/],
    [`input { ${tensor} dims: -1 reshape { } }`, /differ in the number of variable dims/],
    [
      `input { ${tensor} dims: [ 2, -1, 3 ] reshape { shape: [ 3, -1, 2 ] } }`,
      /differ in the number of elements between variable dims/,
    ],
    [
      `input { ${tensor} dims: [ 2, -1 ] reshape { shape: [ 2, 3 ] } }`,
      /differ in the number of variable dims/,
    ],
    [
      `output { ${tensor} dims: 4 reshape { shape: [ 4, 0 ] } }`,
      /output\[0\]\.reshape\.shape: expected dims of 1 or more.* found \[4,0\]/,
    ],
    [`input { ${tensor} dims: 1 optional: true }`],
    [
      'input { name: "x" } batch_input { target_name: "t" data_type: TYPE_INT32 source_input: "x" }',
      /data_type/,
      /dims/,
    ],
  ],
  'backend: "identity" max_batch_size: 4',
);

check(
  [
    [`input { ${tensor} dims: 1 reshape { } }`],
    [
      `output { ${tensor} dims: 2 reshape { } }`,
      /output\[0\]\.reshape: dims \[2\] and reshape \[\] differ in size: 2 and 1 elements/,
    ],
    [
      `input { ${tensor} dims: [ ${'1, '.repeat(1024)}1 ] }`,
      /input\[0\]\.dims: expected at most 1024 dims but found 1025/,
    ],
    [
      `input { ${tensor} dims: 1 reshape { shape: [ ${'1, '.repeat(1024)}1 ] } }`,
      /input\[0\]\.reshape\.shape: expected at most 1024 dims but found 1025/,
    ],
    [
      `input { ${tensor} dims: 9007199254740991 dims: 9007199254740991 reshape { shape: [ 9007199254740991, 9007199254740990 ] } }`,
      /differ in size/,
    ],
    [`input { ${tensor} dims: 1 optional: true }`],
    [
      `max_batch_size: 4 input { ${tensor} dims: 1 optional: true }`,
      /input\[0\]\.optional: onnxruntime allows it only without batching but max_batch_size is 4/,
    ],
    [
      `input { ${tensor} dims: 1 optional: true allow_ragged_batch: true }`,
      /input\[0\]\.optional: .*together with allow_ragged_batch/,
    ],
  ],
  'backend: "onnxruntime" platform: "onnxruntime_onnx"',
);

check(
  [
    [
      'batch_input { target_name: "t" data_type: TYPE_INT32 source_input: "x" } batch_output { target_name: "y" source_input: "x" }',
    ],
    ['batch_input { data_type: TYPE_FP32 }', /batch_input\[0\]\.source_input: expected one name but found 0/],
    [
      'batch_input { data_type: TYPE_INT64 source_input: "x" }',
      /batch_input\[0\]\.data_type: .*but found TYPE_INT64/,
    ],
    ['batch_input { data_type: TYPE_FP32 source_input: "z" }', /source_input: "z" is not a declared input/],
    [
      'batch_output { target_name: "z" source_input: [ "x", "x" ] }',
      /batch_output\[0\]\.source_input: expected one name but found 2/,
      /target_name\[0\]: "z" is not a declared output/,
    ],
    ['batch_output { target_name: [ "y", "y" ] source_input: "x" }', /target_name\[1\]: "y" is listed twice/],
    [
      'batch_input { target_name: [ "x", "t" ] data_type: TYPE_FP32 source_input: "x" } batch_input { target_name: "t" data_type: TYPE_FP32 source_input: "x" }',
      /batch_input\[0\]\.target_name\[0\]: "x" is sent by callers, because input\[0\] declares it/,
      /batch_input\[1\]\.target_name\[0\]: "t" is made by batch_input\[0\]\.target_name\[1\] too/,
    ],
    // Without a batch dimension, the second dim of the output has no counterpart.
    [
      'output { name: "z" data_type: TYPE_FP32 dims: [ 1, -1 ] } batch_output { target_name: "z" source_input: "x" }',
      /batch_output\[0\]\.target_name\[0\]: "z" has the shape \[1,-1\] and takes .* "x", which has only \[1\]/,
    ],
    [
      'output { name: "z" data_type: TYPE_STRING dims: 1 } batch_output { target_name: "z" source_input: "x" }',
      /target_name\[0\]: "z" has strings, which cannot be split by a shape/,
    ],
  ],
  `backend: "identity" input { ${tensor} dims: 1 } output { name: "y" data_type: TYPE_FP32 dims: 1 }`,
);

// The output may still be completed from the model.
check(
  [['batch_output { target_name: "y" source_input: "x" }']],
  `backend: "onnxruntime" platform: "onnxruntime_onnx" input { ${tensor} dims: 1 }`,
);
