import assert from 'node:assert/strict';
import test from 'node:test';
import { completeConfig, tritonDefaults, type CompletedConfig } from '../../../src/config/rules/complete.js';
import type { ModelDescription, TensorDescription } from '../../../src/config/rules/description.js';
import type { ModelConfig, ModelInput, ModelOutput } from '../../../src/config/schema/types.js';
import { normalized, parse, reported } from '../helpers.js';

const tensor = (
  name: string,
  shape: readonly number[] | undefined,
  rest: Partial<TensorDescription> = {},
): TensorDescription => ({
  name,
  datatype: 'FP32',
  typeName: 'tensor(float)',
  shape,
  optional: false,
  dimNames: (shape ?? []).map((dim, index) => (dim >= 0 ? '' : index === 0 ? 'N' : `d${index}`)),
  ...rest,
});

/** A model with x and y of the given shapes. */
const model = (x: readonly number[] | undefined, y: readonly number[] | undefined = x): ModelDescription => ({
  inputs: [tensor('x', x)],
  outputs: [tensor('y', y)],
});

function complete(
  text: string,
  description: ModelDescription,
  defaultMaxBatchSize = tritonDefaults.defaultMaxBatchSize,
): CompletedConfig & { problems: string[] } {
  const config = normalized(`name: "m" backend: "onnxruntime" platform: "onnxruntime_onnx" ${text}`);
  let completed: CompletedConfig = { config, notes: [] };
  const problems = reported((report) => {
    const zeroWritten = parse(text).value.max_batch_size === 0;
    completed = completeConfig(config, zeroWritten, description, { defaultMaxBatchSize }, report);
  });
  return { ...completed, problems };
}

/** The parts that completion decides, briefly. */
function summary(config: ModelConfig): unknown {
  const tensors = (list: readonly (ModelInput | ModelOutput)[]): string =>
    list
      .map(
        ({ name, dims, reshape }) => `${name}[${dims.join()}]${reshape ? `(${reshape.shape.join()})` : ''}`,
      )
      .join(' ');
  const batching = config.dynamic_batching;
  return {
    max: config.max_batch_size,
    in: tensors(config.input),
    out: tensors(config.output),
    ...(batching && { sizes: batching.preferred_batch_size }),
  };
}

const written = 'data_type: TYPE_FP32 dims: 16';
for (const [text, description, expected] of [
  ['', model([-1, 16]), { max: 4, in: 'x[16]', out: 'y[16]', sizes: [] }],
  ['max_batch_size: 8', model([-1, 16]), { max: 8, in: 'x[16]', out: 'y[16]', sizes: [] }],
  ['max_batch_size: 1', model([-1, 16]), { max: 1, in: 'x[16]', out: 'y[16]' }],
  ['max_batch_size: 0', model([-1, 16]), { max: 0, in: 'x[-1,16]', out: 'y[-1,16]' }],
  [
    'max_batch_size: 0 dynamic_batching { }',
    model([-1, 16]),
    { max: 0, in: 'x[-1,16]', out: 'y[-1,16]', sizes: [] },
  ],
  ['', model([1, 16]), { max: 0, in: 'x[1,16]', out: 'y[1,16]' }],
  ['', model([-1, 16], [1, 16]), { max: 0, in: 'x[-1,16]', out: 'y[1,16]' }],
  ['', model([16, -1]), { max: 0, in: 'x[16,-1]', out: 'y[16,-1]' }],
  ['', model([-1]), { max: 4, in: 'x[1]()', out: 'y[1]()', sizes: [] }],
  ['', model([]), { max: 0, in: 'x[1]', out: 'y[1]' }],
  ['', model([-1, -1, 3], [-1]), { max: 4, in: 'x[-1,3]', out: 'y[1]()', sizes: [] }],
  ['dynamic_batching { }', model([-1, 16]), { max: 4, in: 'x[16]', out: 'y[16]', sizes: [4] }],
  ['dynamic_batching { }', model([1, 16]), { max: 0, in: 'x[1,16]', out: 'y[1,16]', sizes: [] }],
  ['sequence_batching { }', model([-1, 16]), { max: 4, in: 'x[16]', out: 'y[16]' }],
  [`input { name: "x" ${written} }`, model([-1, 16]), { max: 4, in: 'x[16]', out: 'y[16]', sizes: [] }],
  [`output { name: "y" ${written} }`, model([-1, 16]), { max: 4, in: 'x[16]', out: 'y[16]', sizes: [] }],
  [
    `max_batch_size: 2 output { name: "y" ${written} }`,
    model([-1, 16]),
    { max: 2, in: 'x[16]', out: 'y[16]', sizes: [] },
  ],
  [`batch_input { } output { name: "y" ${written} }`, model([-1, 16]), { max: 0, in: '', out: 'y[16]' }],
  [
    `input { name: "x" ${written} } output { name: "y" ${written} }`,
    model([-1, 16]),
    { max: 0, in: 'x[16]', out: 'y[16]' },
  ],
  [
    `max_batch_size: 8 input { name: "x" ${written} } output { name: "y" ${written} }`,
    model([-1, 16]),
    { max: 8, in: 'x[16]', out: 'y[16]' },
  ],
] as const) {
  const shapes = `[${description.inputs[0]?.shape?.join() ?? ''}] -> [${description.outputs[0]?.shape?.join() ?? ''}]`;
  test(`${text || 'nothing'} for a model ${shapes} is completed to ${JSON.stringify(expected)}`, () => {
    const { config, problems } = complete(text, description);
    assert.deepEqual(problems, []);
    assert.deepEqual(summary(config), expected);
  });
}

test('a tensor of unknown rank is not completed: the message says what to write', () => {
  const unranked = { inputs: [tensor('x', undefined)], outputs: [tensor('y', [-1, 16])] };
  const { problems } = complete('', unranked);
  assert.equal(problems.length, 1);
  assert.equal(
    problems[0],
    `INVALID_ARG input[0]: cannot be completed: the model's file does not say how many dimensions its input "x" has. ` +
      'Write all inputs with their dims in config.pbtxt, such as input [ { name: "x" data_type: TYPE_FP32 dims: [ -1, 16 ] } ]',
  );
  const both = complete('', { inputs: [tensor('x', undefined)], outputs: [tensor('y', undefined)] });
  assert.match(
    both.problems.join('\n'),
    /^INVALID_ARG input\[0\]: .*\nINVALID_ARG output\[0\]: .*its output "y"/,
  );
});

test('beside a written tensor of unknown rank the others are completed, and batching is what is written', () => {
  const unranked = { inputs: [tensor('x', undefined)], outputs: [tensor('y', [-1, 4])] };
  const input = `input { name: "x" ${written} }`;
  for (const [text, expected] of [
    [input, { max: 0, in: 'x[16]', out: 'y[-1,4]' }],
    [`max_batch_size: 8 ${input}`, { max: 8, in: 'x[16]', out: 'y[4]', sizes: [] }],
  ] as const) {
    const { config, problems } = complete(text, unranked);
    assert.deepEqual(problems, []);
    assert.deepEqual(summary(config), expected);
  }
});

for (const [size, expected] of [
  [16, { max: 16, in: 'x[2]', out: 'y[2]', sizes: [] }],
  [1, { max: 1, in: 'x[2]', out: 'y[2]' }],
  [0, { max: 0, in: 'x[-1,2]', out: 'y[-1,2]' }],
] as const) {
  test(`with default-max-batch-size ${size} nothing is completed to ${JSON.stringify(expected)}`, () => {
    assert.deepEqual(summary(complete('', model([-1, 2]), size).config), expected);
  });
}

test('each thing that is filled in is noted', () => {
  assert.deepEqual(complete('', model([-1, 16])).notes, [
    'max_batch_size: completed to 4, the default for a model that can be batched',
    'input[0]: completed from the model: "x", TYPE_FP32, dims [16]',
    'output[0]: completed from the model: "y", TYPE_FP32, dims [16]',
    'dynamic_batching: added, because the model can be batched and no scheduler is written',
  ]);
});

test('a model that cannot be batched, or is not known to keep its rows, has a note that says why', () => {
  const [note] = complete('', model([-1, 16], [1, 16])).notes;
  assert.equal(
    note,
    'max_batch_size: completed to 0, because the first dimension of "y", [1,16], is not variable',
  );
  const varying = { ...model([-1, 16]), rowsVary: 'the model has the operator NonZero' };
  assert.equal(
    complete('', varying).notes[0],
    'max_batch_size: completed to 0, because the model has the operator NonZero; so it is not known that outputs have a row ' +
      'for each row of the inputs. If they have, write max_batch_size: 64, say, in config.pbtxt, and the model is batched',
  );
  assert.doesNotMatch(complete('max_batch_size: 0', varying).notes.join('\n'), /^max_batch_size/m);
});

test('a model that says how many rows it takes is batched so, without names of dims', () => {
  const nameless = { dimNames: [] };
  const plan = (mostRows: number): ModelDescription => ({
    inputs: [tensor('x', [-1, 16], nameless)],
    outputs: [tensor('y', [-1, 16], nameless)],
    mostRows,
  });
  for (const [text, rows, expected] of [
    ['', 8, { max: 8, in: 'x[16]', out: 'y[16]', sizes: [] }],
    ['', 1, { max: 1, in: 'x[16]', out: 'y[16]' }],
    ['', 0, { max: 0, in: 'x[-1,16]', out: 'y[-1,16]' }],
    ['max_batch_size: 2', 8, { max: 2, in: 'x[16]', out: 'y[16]', sizes: [] }],
    ['max_batch_size: 0', 8, { max: 0, in: 'x[-1,16]', out: 'y[-1,16]' }],
    // Dims that are written say whether they have the batch dimension.
    [`input { name: "x" ${written} }`, 8, { max: 8, in: 'x[16]', out: 'y[16]', sizes: [] }],
    [`input { name: "x" ${written} dims: 16 }`, 8, { max: 0, in: 'x[16,16]', out: 'y[-1,16]' }],
  ] as const) {
    assert.deepEqual(summary(complete(text, plan(rows)).config), expected, text);
  }
  assert.equal(
    complete('', plan(8)).notes[0],
    'max_batch_size: completed to 8, the most rows that the model takes',
  );
});

test('shape tensors are completed as such', () => {
  const { config } = complete('', {
    inputs: [tensor('s', [2], { datatype: 'INT32', isShapeTensor: true })],
    outputs: [tensor('y', [-1, -1]), tensor('d', [2], { datatype: 'INT32', isShapeTensor: true })],
    mostRows: 0,
  });
  assert.deepEqual(
    [...config.input, ...config.output].map(({ is_shape_tensor }) => is_shape_tensor),
    [true, false, true],
  );
});

test('the first value of a shape tensor is the batch where there is one, and dims do not count it', () => {
  const plan = (s: readonly number[]): ModelDescription => ({
    inputs: [tensor('x', [-1, 4]), tensor('s', s, { datatype: 'INT32', isShapeTensor: true })],
    outputs: [tensor('y', [-1, -1])],
    mostRows: 8,
  });
  const dims = (text: string, s = [3]): readonly unknown[] => {
    const { config } = complete(text, plan(s));
    return [config.max_batch_size, config.input[1]?.dims];
  };
  assert.deepEqual(dims(''), [8, [2]]);
  assert.deepEqual(dims('max_batch_size: 0'), [0, [3]]);
  const whole = 'input [ { name: "x" dims: [ -1, 4 ] }, { name: "s" dims: [ 3 ] } ]';
  assert.deepEqual(dims(whole), [0, [3]]);
  assert.deepEqual(dims('input [ { name: "x" dims: 4 }, { name: "s" dims: 2 } ]'), [8, [2]]);
  // The shape tensor has no values besides the batch.
  assert.deepEqual(dims('', [1]), [0, [1]]);
});

test('types are those of the model', () => {
  const description = {
    inputs: [tensor('s', [2], { datatype: 'BYTES' })],
    outputs: [tensor('i', [2], { datatype: 'INT64' })],
  };
  const { config } = complete('', description);
  assert.deepEqual([config.input[0]?.data_type, config.output[0]?.data_type], ['TYPE_STRING', 'TYPE_INT64']);
});

test('inputs that a request may leave out are not completed, and do not forbid batching', () => {
  const description = {
    inputs: [tensor('x', [-1, 2]), tensor('w', [2], { optional: true })],
    outputs: [tensor('y', [-1])],
  };
  assert.deepEqual(summary(complete('', description).config), {
    max: 4,
    in: 'x[2]',
    out: 'y[1]()',
    sizes: [],
  });
});

test('a batch size for a model that cannot be batched is refused with the shape that forbids it', () => {
  const { problems } = complete('max_batch_size: 8', model([-1, 16], [1, 16]));
  assert.equal(problems.length, 1);
  assert.match(
    problems[0] ?? '',
    /^INVALID_ARG max_batch_size: is 8, but the model does not support batching: .*"y", \[1,16\]/,
  );
});

test('a type without a name in Triton is refused', () => {
  const description = {
    inputs: [tensor('x', [2], { datatype: undefined, typeName: 'tensor(complex64)' })],
    outputs: [tensor('y', [2])],
  };
  assert.match(
    complete('', description).problems.join(),
    /^INVALID_ARG input\[0\]: cannot be completed: the model's input "x" is of type tensor\(complex64\)/,
  );
});

test('an output of a type without a name in Triton is left out, and does not count for batching', () => {
  const odd = tensor('odd', [], { datatype: undefined, typeName: 'sequence' });
  const { config, notes, problems } = complete('', {
    inputs: [tensor('x', [-1, 16])],
    outputs: [odd, tensor('y', [-1, 4])],
  });
  assert.deepEqual(problems, []);
  assert.deepEqual(summary(config), { max: 4, in: 'x[16]', out: 'y[4]', sizes: [] });
  assert.match(notes.join('\n'), /^output: left out, because the model's "odd" is of type sequence/m);
});

for (const [text, section] of [
  ['sequence_batching { state { input_name: "x" } }', 'input'],
  ['sequence_batching { control_input { name: "c" } } input { name: "x" }', 'output'],
] as const) {
  test(`${text} needs ${section} to be written`, () => {
    const { problems } = complete(text, model([-1, 16]));
    assert.match(
      problems.join(),
      new RegExp(`^INVALID_ARG ${section}: missing: with state or control_input`),
    );
  });
}
