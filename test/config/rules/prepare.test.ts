import assert from 'node:assert/strict';
import test from 'node:test';
import { tritonDefaults } from '../../../src/config/rules/complete.js';
import type { ModelDescription } from '../../../src/config/rules/description.js';
import {
  finishConfig,
  prepareConfig,
  type ConfigContext,
  type PreparedConfig,
} from '../../../src/config/rules/prepare.js';
import { printConfig } from '../../../src/config/text/print.js';
import { readModelConfigJson } from '../../../src/config/text/read-json.js';
import { backends, gpus, parse, tritonErrorOf } from '../helpers.js';

const context: ConfigContext = {
  modelName: 'm',
  modelDirectory: '/models/m',
  firstVersionEntries: [{ name: 'model.onnx', isDirectory: false }],
  autoComplete: false,
  backends,
  gpus: () => gpus(0),
  instanceKind: undefined,
};
const completing: ConfigContext = { ...context, autoComplete: true };

const model: ModelDescription = {
  inputs: [
    {
      name: 'x',
      datatype: 'FP32',
      typeName: 'tensor(float)',
      shape: [-1, 16],
      optional: false,
      dimNames: ['N', ''],
    },
  ],
  outputs: [
    {
      name: 'y',
      datatype: 'FP32',
      typeName: 'tensor(float)',
      shape: [-1, 16],
      optional: false,
      dimNames: ['N', ''],
    },
  ],
};

const tensors = `max_batch_size: 8
input { name: "x" data_type: TYPE_FP32 dims: 16 }
output { name: "y" data_type: TYPE_FP32 dims: 16 }
`;
const prepare = (text: string, where = context): PreparedConfig => prepareConfig(parse(text), where);

test('a complete configuration is filled, normalised and frozen', () => {
  const { config, notes } = prepare(`${tensors} dynamic_batching { }`);
  assert.deepEqual([config.name, config.backend, config.platform], ['m', 'onnxruntime', 'onnxruntime_onnx']);
  assert.deepEqual(config.dynamic_batching?.preferred_batch_size, [8]);
  assert.deepEqual(
    config.instance_group.map(({ name, kind, count }) => [name, kind, count]),
    [['m', 'KIND_CPU', 1]],
  );
  assert.ok(Object.isFrozen(config) && Object.isFrozen(config.input[0]?.dims));
  assert.deepEqual(notes, []);
});

test('a key that a map has twice outside of ensembles is a note with both lines', () => {
  const { config, notes } = prepareConfig(
    parse(
      'backend: "identity"\nparameters { key: "a" value { string_value: "1" } }\nparameters { key: "a" value { string_value: "2" } }',
    ),
    completing,
  );
  assert.equal(config.parameters['a']?.string_value, '2');
  assert.ok(
    notes.includes('parameters["a"]: written twice (lines 2 and 3); the last one counts'),
    notes.join('\n'),
  );
});

test('a prepared configuration has the fields in the order of the schema', () => {
  const keys = Object.keys(prepare(tensors).config);
  assert.deepEqual(keys.slice(0, 7), [
    'name',
    'platform',
    'backend',
    'runtime',
    'version_policy',
    'max_batch_size',
    'input',
  ]);
});

test('a model without a configuration is refused where nothing is completed, with an example that loads', () => {
  const error = tritonErrorOf(() => prepareConfig(undefined, context));
  assert.equal(error.code, 'INVALID_ARG');
  assert.equal(error.model, 'm');
  assert.match(error.message, /^\/models\/m[\\/]config\.pbtxt: missing/);
  const example = error.message.slice(error.message.indexOf('\n'));
  assert.equal(prepare(example).config.max_batch_size, 8);
});

test('missing sections are refused where nothing is completed, saying what to write', () => {
  const error = tritonErrorOf(() => prepare('backend: "onnxruntime"'));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(
    error.message,
    /^config\.pbtxt: input: missing: write the model's inputs.*\nconfig\.pbtxt: output: missing/,
  );
});

test('missing parts of a tensor are refused with the line of the tensor', () => {
  const error = tritonErrorOf(() =>
    prepare('input [\n  { name: "x" }\n]\noutput { name: "y" data_type: TYPE_FP32 dims: 1 }'),
  );
  assert.match(
    error.message,
    /config\.pbtxt:2: input\[0\]\.data_type: missing: write the element type of "x"/,
  );
  assert.match(error.message, /config\.pbtxt:2: input\[0\]\.dims: missing: write the shape of "x"/);
});

test('every refused field is listed with its line, and the code is UNSUPPORTED', () => {
  const error = tritonErrorOf(() =>
    prepare(`${tensors}runtime: "libtriton_other.so"\ninstance_group { passive: true }`),
  );
  assert.equal(error.code, 'UNSUPPORTED');
  assert.match(
    error.message,
    /config\.pbtxt:4: runtime: not supported.*\nconfig\.pbtxt:5: instance_group\[0\]\.passive: not supported/,
  );
  assert.ok(error.cause instanceof AggregateError);
  assert.deepEqual(error.location, { file: 'config.pbtxt', line: 4, field: 'runtime' });
});

test('something wrong beside something unsupported is INVALID_ARG', () => {
  const error = tritonErrorOf(() => prepare(`${tensors}runtime: "libtriton_other.so"\nname: "other"`));
  assert.equal(error.code, 'INVALID_ARG');
  assert.match(error.message, /name: unexpected name "other"[^]*runtime: not supported/);
});

test('a field that breaks a rule of Triton is not called unsupported as well', () => {
  const error = tritonErrorOf(() => prepare(`${tensors}instance_group { profile: "0" }`));
  assert.equal(error.code, 'INVALID_ARG');
  assert.doesNotMatch(error.message, /not supported/);
});

test('KIND_GPU without a GPU is UNAVAILABLE, whatever GPUs it lists, with the reason and the way out', () => {
  const error = tritonErrorOf(() => prepare(`${tensors}instance_group { kind: KIND_GPU gpus: [ 0, 7 ] }`));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.deepEqual(error.location, { file: 'config.pbtxt', line: 4, field: 'instance_group[0].kind' });
  assert.match(
    error.message,
    /KIND_GPU, but there is no GPU in this test\. To use the CPU: instanceKind: 'cpu'/,
  );
});

test('what is not supported outranks what is missing on the machine', () => {
  const error = tritonErrorOf(() =>
    prepare(`${tensors}instance_group { kind: KIND_GPU }\nruntime: "libtriton_other.so"`),
  );
  assert.equal(error.code, 'UNSUPPORTED');
  assert.match(error.message, /KIND_GPU, but[^]*runtime: not supported/);
});

const group = 'instance_group { kind: KIND_GPU count: 2 gpus: [ 0, 1 ] }';

test("with instanceKind 'cpu' a KIND_GPU group is on the CPU, and that is noted", () => {
  for (const count of [0, 2]) {
    const { config, notes } = prepare(tensors + group, {
      ...context,
      gpus: () => gpus(count),
      instanceKind: 'cpu',
    });
    assert.deepEqual(
      config.instance_group.map(({ kind, count, gpus }) => [kind, count, gpus]),
      [['KIND_CPU', 2, []]],
    );
    assert.deepEqual(notes, [
      "instance_group[0].kind: KIND_GPU means the CPU, as instanceKind: 'cpu' says",
      "instance_group[0].gpus: left out, as instanceKind: 'cpu' says",
    ]);
  }
});

test('nobody looks for GPUs where it does not matter', () => {
  const gpusOf = (): never => assert.fail('looked');
  const cpu = `${tensors}instance_group { kind: KIND_CPU }`;
  assert.equal(prepare(cpu, { ...context, gpus: gpusOf }).config.instance_group[0]?.kind, 'KIND_CPU');
  const placed = prepare(tensors + group, { ...context, gpus: gpusOf, instanceKind: 'cpu' });
  assert.equal(placed.config.instance_group[0]?.kind, 'KIND_CPU');
});

test('a backend says which GPUs there are', () => {
  const asked: string[] = [];
  const { config } = prepare(tensors + group, {
    ...context,
    gpus: (backend) => {
      asked.push(backend);
      return gpus(2);
    },
  });
  assert.deepEqual(asked, ['onnxruntime']);
  assert.deepEqual(config.instance_group[0]?.gpus, [0, 1]);
});

test('whether KIND_GPU can be had is beside the point for a backend that is not known', () => {
  const prepared = prepare(`backend: "other" ${tensors}${group}`, { ...context, gpus: () => undefined });
  assert.equal(prepared.config.instance_group[0]?.kind, 'KIND_GPU');
});

test('an option of the CUDA provider is acted on where KIND_AUTO means a GPU', () => {
  const text = `${tensors}parameters { key: "gpu_mem_limit" value { string_value: "1000" } }`;
  assert.match(prepare(text).notes.join(), /^parameters\["gpu_mem_limit"\]: accepted, without effect here/);
  assert.deepEqual(prepare(text, { ...context, gpus: () => gpus(1) }).notes, []);
});

test('GPUs without KIND_GPU are wrong', () => {
  const error = tritonErrorOf(() => prepare(`${tensors}instance_group { gpus: [ 0 ] }`));
  assert.equal(error.code, 'INVALID_ARG');
  assert.equal(error.location?.field, 'instance_group[0].gpus');
});

test('hints are noted', () => {
  const { notes } = prepare(`${tensors} cc_model_filenames { key: "7.5" value: "b" }`);
  assert.match(notes.join(), /^cc_model_filenames: accepted, without effect here/);
});

test('a configuration given as JSON is prepared alike', () => {
  const value = {
    input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [16] }],
    output: [{ name: 'y', data_type: 'TYPE_FP32', dims: ['16'] }],
    max_batch_size: 8,
  };
  const prepared = prepareConfig(readModelConfigJson({ file: 'given', value }), context);
  assert.deepEqual(prepared.config, prepare(tensors).config);
  const error = tritonErrorOf(() =>
    prepareConfig(readModelConfigJson({ file: 'given', value: { name: 'n' } }), context),
  );
  assert.match(error.message, /^given: name: unexpected name "n"/);
});

test('a configuration that fits the model is finished as it is', () => {
  const prepared = prepare(tensors);
  const finished = finishConfig(prepared, model, tritonDefaults);
  assert.deepEqual(finished.config, prepared.config);
  assert.deepEqual(finished.notes, []);
});

test('differences from the model are refused with file and line', () => {
  const prepared = prepare(tensors.replace('"x" data_type: TYPE_FP32', '"x" data_type: TYPE_INT32'));
  const error = tritonErrorOf(() => finishConfig(prepared, model, tritonDefaults));
  assert.equal(error.code, 'INVALID_ARG');
  assert.equal(error.model, 'm');
  assert.match(
    error.message,
    /^config\.pbtxt:2: input\[0\]\.data_type: the model's input "x" has type tensor\(float\)/,
  );
});

test('a model whose backend tells nothing is finished with what is written', () => {
  const prepared = prepare(`backend: "identity" ${tensors}`);
  assert.deepEqual(finishConfig(prepared, undefined, tritonDefaults).config, prepared.config);
});

for (const text of [undefined, '', 'max_batch_size: 4']) {
  test(`${text === undefined ? 'no file' : JSON.stringify(text)} is completed as Triton completes it`, () => {
    const prepared = prepareConfig(text === undefined ? undefined : parse(text), completing);
    const { config, notes } = finishConfig(prepared, model, tritonDefaults);
    assert.equal(
      printConfig(config),
      `name: "m"
platform: "onnxruntime_onnx"
backend: "onnxruntime"
version_policy {
  latest {
    num_versions: 1
  }
}
max_batch_size: 4
input [
  {
    name: "x"
    data_type: TYPE_FP32
    dims: [ 16 ]
  }
]
output [
  {
    name: "y"
    data_type: TYPE_FP32
    dims: [ 16 ]
  }
]
optimization {
  input_pinned_memory {
    enable: true
  }
  output_pinned_memory {
    enable: true
  }
}
dynamic_batching { }
instance_group [
  {
    name: "m"
    kind: KIND_CPU
    count: 1
  }
]
default_model_filename: "model.onnx"
`,
    );
    assert.match(notes.join('\n'), /^input\[0\]: completed from the model/m);
  });
}

test('a written max_batch_size of 0 stays, and an absent one is completed', () => {
  const finished = finishConfig(prepare('max_batch_size: 0', completing), model, tritonDefaults);
  assert.equal(finished.config.max_batch_size, 0);
  assert.deepEqual(finished.config.input[0]?.dims, [-1, 16]);
  assert.doesNotMatch(finished.notes.join('\n'), /^max_batch_size/m);
  assert.equal(finished.batchSizeCompleted, false);
  const completed = finishConfig(prepare('', completing), model, tritonDefaults);
  assert.equal(completed.config.max_batch_size, 4);
  assert.equal(completed.batchSizeCompleted, 'default');
});

test('the batch size of a plan is completed from its profiles, and not from the default of another backend', () => {
  const plan = { ...model, mostRows: 6 };
  const prepared = prepare('platform: "tensorrt_plan"', completing);
  const completed = finishConfig(prepared, plan, tritonDefaults);
  assert.equal(completed.config.max_batch_size, 6);
  assert.equal(completed.batchSizeCompleted, 'model');
});

/** The output has other rows than the input. */
const varying: ModelDescription = {
  ...model,
  outputs: model.outputs.map((output) => ({ ...output, dimNames: ['M', ''] })),
};

test('a written batch size for a model that may return other rows is warned of, with and without completion', () => {
  for (const [text, where] of [
    [tensors, context],
    [tensors, completing],
    ['max_batch_size: 8', completing],
  ] as const) {
    const { config, notes } = finishConfig(prepare(text, where), varying, tritonDefaults);
    assert.equal(config.max_batch_size, 8);
    assert.match(
      notes.at(-1) ?? '',
      /^max_batch_size: is 8, but the first dimension of output "y", \[M,16\]/,
    );
    assert.doesNotMatch(
      finishConfig(prepare(text, where), model, tritonDefaults).notes.join('\n'),
      /: is 8, but/,
    );
  }
});

test('outputs that a configuration leaves out cause no warning', () => {
  const [y] = model.outputs;
  const [other] = varying.outputs;
  assert.ok(y && other);
  const both: ModelDescription = { ...model, outputs: [{ ...other, name: 'z' }, y] };
  assert.deepEqual(finishConfig(prepare(tensors), both, tritonDefaults).notes, []);
});

test('dims that leave out a batch dimension which completion does not make are refused with the reason', () => {
  const text = 'input { name: "x" data_type: TYPE_FP32 dims: 16 }';
  const error = tritonErrorOf(() => finishConfig(prepare(text, completing), varying, tritonDefaults));
  assert.match(error.message, /input\[0\]\.dims: .* has shape \[-1,16\], all of it: max_batch_size is 0/);
  assert.match(
    error.message,
    /max_batch_size: completed to 0, because the first dimension of output "y", \[M,16\]/,
  );
});

test('a preferred size without max_batch_size is refused although the size would be completed', () => {
  const error = tritonErrorOf(() => prepare('dynamic_batching { preferred_batch_size: 4 }', completing));
  assert.match(error.message, /preferred_batch_size\[0\]: expected 1 to max_batch_size, which is 0/);
});

test('an entry that is written is not completed, and is refused together with what is not supported', () => {
  const error = tritonErrorOf(() =>
    prepare('input { name: "x" }\ninstance_group { passive: true }', completing),
  );
  assert.match(error.message, /config\.pbtxt:1: input\[0\]\.data_type: missing/);
  assert.match(error.message, /config\.pbtxt:2: instance_group\[0\]\.passive: not supported/);
});

test('a model of flat tensors is completed with a reshape', () => {
  const prepared = prepareConfig(undefined, completing);
  const flat = { ...model, outputs: [{ ...model.outputs[0], shape: [-1] }] } as ModelDescription;
  const { config } = finishConfig(prepared, flat, tritonDefaults);
  assert.deepEqual(config.output[0]?.dims, [1]);
  assert.deepEqual(config.output[0].reshape, { shape: [] });
});

test('what completion cannot do is refused with the shape that forbids it', () => {
  const fixed = { ...model, inputs: [{ ...model.inputs[0], shape: [1, 16] }] } as ModelDescription;
  const error = tritonErrorOf(() =>
    finishConfig(prepare('\nmax_batch_size: 4', completing), fixed, tritonDefaults),
  );
  assert.match(
    error.message,
    /^config\.pbtxt:2: max_batch_size: is 4, but the model does not support batching: .*\[1,16\]/,
  );
});

test('a backend that completes nothing needs its tensors to be written', () => {
  const prepared = prepare('backend: "identity"', completing);
  assert.match(
    tritonErrorOf(() => finishConfig(prepared, undefined, tritonDefaults)).message,
    /input: missing/,
  );
});
