/** What is completed in a configuration of TensorFlow's, and what its rules say. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  finishConfig,
  prepareConfig,
  readModelConfig,
  type ModelDescription,
} from '../../../src/config/index.js';
import { backends, gpus } from '../../config/helpers.js';
import { thrown } from '../../support/harness.js';

function tensor(name: string, shape: readonly number[] | undefined): ModelDescription['inputs'][number] {
  const dimNames = shape?.map((_, index) => (index === 0 ? 'batch' : '')) ?? [];
  return { name, datatype: 'FP32', typeName: 'float', shape, optional: false, dimNames };
}

const model: ModelDescription = {
  inputs: [tensor('a', [-1, 4]), tensor('b', [-1])],
  outputs: [tensor('y', [-1, 3])],
};

const head = 'backend: "tensorflow" platform: "tensorflow_savedmodel" ';

function finish(text: string, description: ModelDescription = model): ReturnType<typeof finishConfig> {
  const parsed = readModelConfig({ file: 'config.pbtxt', text: head + text });
  const prepared = prepareConfig(parsed, {
    ...{ modelName: 'm', modelDirectory: 'm', firstVersionEntries: [], autoComplete: true },
    ...{ backends, gpus: () => gpus(0), instanceKind: undefined },
  });
  return finishConfig(prepared, description, { defaultMaxBatchSize: 4 });
}

/** Inputs, outputs and max_batch_size, briefly. */
function summary({ config }: ReturnType<typeof finishConfig>): unknown {
  const tensors = [...config.input, ...config.output].map(
    ({ name, data_type, dims, reshape }) =>
      `${name} ${data_type} [${dims.join()}]${reshape ? `(${reshape.shape.join()})` : ''}`,
  );
  return [config.max_batch_size, config.dynamic_batching !== undefined, ...tensors];
}

const whole = ['a TYPE_FP32 [4]', 'b TYPE_FP32 [1]()', 'y TYPE_FP32 [3]'];

test('a model whose tensors have variable first dimensions is batched', () => {
  assert.deepEqual(summary(finish('')), [4, true, ...whole]);
  assert.deepEqual(summary(finish('max_batch_size: 1')), [1, false, ...whole]);
  const fixed = { ...model, outputs: [tensor('y', [2, 3])] };
  assert.deepEqual(summary(finish('', fixed)), [
    0,
    false,
    'a TYPE_FP32 [-1,4]',
    'b TYPE_FP32 [-1]',
    'y TYPE_FP32 [2,3]',
  ]);
  assert.match(thrown(() => finish('max_batch_size: 8', fixed)).message, /does not support batching/);
});

test('inputs that are not written, and types and dims of written tensors, are completed', () => {
  const output = 'output { name: "y" data_type: TYPE_FP32 dims: 3 }';
  for (const text of [
    `max_batch_size: 4 dynamic_batching {} input { name: "a" data_type: TYPE_FP32 dims: 4 } ${output}`,
    `max_batch_size: 4 dynamic_batching {} input [ { name: "a" } ] output { name: "y" }`,
    `input { name: "a" dims: 4 } input { name: "b" data_type: TYPE_FP32 } ${output}`,
    `input { name: "a" data_type: TYPE_FP32 } output { name: "y" dims: 3 }`,
  ])
    assert.deepEqual(summary(finish(text)), [4, true, ...whole], text);
});

test('written dims with the first dimension mean that the model is not batched', () => {
  const text = 'input { name: "a" data_type: TYPE_FP32 dims: [ -1, 4 ] }';
  const unbatched = [0, false, 'a TYPE_FP32 [-1,4]', 'b TYPE_FP32 [-1]', 'y TYPE_FP32 [-1,3]'];
  assert.deepEqual(summary(finish(text)), unbatched);
});

test('what the model does not have is an error', () => {
  for (const [text, message] of [
    ['input { name: "z" data_type: TYPE_FP32 dims: 4 }', /the model has no input "z"/],
    ['input { name: "z" } output { name: "y" }', /input\[0\]\.data_type: missing/],
    ['output { name: "z" }', /output\[0\]\.data_type: missing/],
  ] as const)
    assert.match(thrown(() => finish(text)).message, message, text);
  const unranked = { ...model, inputs: [tensor('a', undefined)] };
  assert.match(
    thrown(() =>
      finish(
        'output { name: "y" data_type: TYPE_FP32 dims: 3 } max_batch_size: 4 input { name: "a" data_type: TYPE_FP32 }',
        unranked,
      ),
    ).message,
    /does not say how many dimensions its input "a" has/,
  );
});

test('accelerators of the CPU do not exist, and unknown ones of GPUs are errors', () => {
  const accelerated = (list: string, name: string): string =>
    `optimization { execution_accelerators { ${list}_execution_accelerator { name: "${name}" } } }`;
  for (const [list, name, message] of [
    [
      'cpu',
      'tensorrt',
      /cpu_execution_accelerator\[0\]\.name: unknown accelerator "tensorrt"; Triton has none/,
    ],
    [
      'gpu',
      'gpu_oi',
      /gpu_execution_accelerator\[0\]\.name: unknown accelerator "gpu_oi" \(did you mean gpu_io\?\)/,
    ],
  ] as const) {
    const error = thrown(() => finish(accelerated(list, name)));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, message);
  }
  for (const name of ['tensorrt', 'auto_mixed_precision', 'gpu_io'])
    assert.match(
      finish(accelerated('gpu', name)).notes.join('\n'),
      /gpu_execution_accelerator\[0\]: accepted, without/,
    );
});

const parameter = (key: string, value: string): string =>
  `parameters { key: "${key}" value { string_value: "${value}" } }`;

test('with the runtime openvino the parameters are those of OpenVINO', () => {
  const runtime = parameter('runtime', 'openvino');
  const { notes } = finish(
    [runtime, parameter('PERFORMANCE_HINT', 'LATENCY'), parameter('TF_NUM_INTRA_THREADS', '2')].join(' '),
  );
  assert.ok(!notes.some((note) => note.includes('PERFORMANCE_HINT')), notes.join('\n'));
  assert.match(notes.join('\n'), /parameters\["TF_NUM_INTRA_THREADS"\]: accepted, without effect here/);
  for (const [key, value] of [
    ['TF_GRAPH_TAG', 'train'],
    ['TF_SIGNATURE_DEF', 'other'],
    ['TF_INIT_OPS_FILE', 'start.json'],
  ] as const) {
    const error = thrown(() => finish(`${runtime} ${parameter(key, value)}`));
    assert.equal(error.code, 'UNSUPPORTED');
    assert.ok(error.message.includes(`parameters["${key}"]`), error.message);
  }
  assert.doesNotThrow(() => finish(`${runtime} ${parameter('TF_GRAPH_TAG', 'serve')}`));
  const { notes: own } = finish(parameter('PERFORMANCE_HINT', 'LATENCY'));
  assert.match(own.join('\n'), /"PERFORMANCE_HINT"\]: .* the tensorflow backend has no such parameter/);
});
