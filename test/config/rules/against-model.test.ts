import assert from 'node:assert/strict';
import test from 'node:test';
import { checkAgainstModel } from '../../../src/config/rules/against-model.js';
import type { ModelDescription, TensorDescription } from '../../../src/config/rules/description.js';
import { normalized, reported } from '../helpers.js';

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
  dimNames: [],
  ...rest,
});

const model: ModelDescription = {
  inputs: [tensor('x', [-1, 16])],
  outputs: [tensor('y', [-1, 4]), tensor('z', [-1])],
};
const fixed: ModelDescription = { inputs: [tensor('x', [1, 16])], outputs: [tensor('y', [1, 4])] };
const flat: ModelDescription = { inputs: [tensor('x', [-1])], outputs: [tensor('y', [])] };
const rest: ModelDescription = {
  inputs: [
    tensor('x', [-1, 16]),
    tensor('c', [-1, 1]),
    tensor('s', [-1, 2]),
    tensor('w', [3], { optional: true }),
  ],
  outputs: [tensor('y', [-1, 4]), tensor('t', [-1, 2])],
};

const type = 'data_type: TYPE_FP32';
const x = `input { name: "x" ${type} dims: 16 }`;
const y = `output { name: "y" ${type} dims: 4 }`;

const unranked: ModelDescription = {
  inputs: [tensor('x', undefined)],
  outputs: [tensor('y', undefined), tensor('z', [-1])],
};

for (const [description, text, ...patterns] of [
  [unranked, `max_batch_size: 8 ${x} ${y}`],
  [unranked, `input { name: "x" ${type} dims: [ 2, 3, 4 ] } output { name: "y" ${type} dims: 1 }`],
  [unranked, `input { name: "x" ${type} dims: 1 reshape { } }`],
  [unranked, x.replace('FP32', 'INT64'), /input\[0\]\.data_type: .* says TYPE_INT64/],
  [unranked, y, /input: .*lacks the model's input "x" \(TYPE_FP32, of unknown rank\)/],
  [model, `max_batch_size: 8 ${x} ${y}`],
  [model, `max_batch_size: 8 ${x} ${y} output { name: "z" ${type} dims: 1 reshape { } }`],
  [model, `input { name: "x" ${type} dims: [ -1, 16 ] } output { name: "y" ${type} dims: [ -1, 4 ] }`],
  [model, `input { name: "x" ${type} dims: [ 5, 16 ] }`],
  [model, `max_batch_size: 8 input { name: "x" ${type} dims: [ 2, 8 ] reshape { shape: 16 } }`],
  [fixed, `input { name: "x" ${type} dims: [ 1, 16 ] } output { name: "y" ${type} dims: [ 1, 4 ] }`],
  [flat, `input { name: "x" ${type} dims: -1 } output { name: "y" ${type} dims: 1 }`],
  [flat, `input { name: "x" ${type} dims: 7 }`],
  [rest, `max_batch_size: 8 ${x} input { name: "c" ${type} dims: 1 } input { name: "s" ${type} dims: 2 }`],
  [
    rest,
    `max_batch_size: 8 ${x} sequence_batching { control_input { name: "c" } state { input_name: "s" output_name: "t" ${type} dims: 2 } }`,
  ],
  [
    rest,
    `max_batch_size: 8 ${x} batch_input { kind: BATCH_ITEM_SHAPE data_type: TYPE_FP32 target_name: [ "c", "s" ] }`,
  ],
  [flat, `max_batch_size: 8 input { name: "x" ${type} dims: [ -1, 3 ] allow_ragged_batch: true }`],
  [
    { inputs: fixed.inputs, outputs: model.outputs },
    `${x.replace('16', '[1,16]')} ${y} batch_output { target_name: "y" }`,
  ],

  [
    model,
    `max_batch_size: 8 ${x.replace('"x"', '"X"')} ${y}`,
    /input\[0\]\.name: the model has no input "X"; its inputs are x \(did you mean x\?\)/,
    /input: the configuration lacks the model's input "x" \(TYPE_FP32, shape \[-1,16\]\)/,
  ],
  [
    model,
    `max_batch_size: 8 ${x} ${y.replace('"y"', '"logits"')}`,
    /output\[0\]\.name: the model has no output "logits"; its outputs are y, z$/,
  ],
  [
    model,
    `max_batch_size: 8 ${x} input { name: "extra" ${type} dims: 1 }`,
    /input\[1\]\.name: the model has no input "extra"/,
  ],
  [
    model,
    `max_batch_size: 8 ${x.replace('FP32', 'INT64')}`,
    /input\[0\]\.data_type: the model's input "x" has type tensor\(float\), which is TYPE_FP32, but the configuration says TYPE_INT64/,
  ],
  [
    { ...model, outputs: [tensor('y', [-1, 4], { datatype: undefined, typeName: 'tensor(complex64)' })] },
    `max_batch_size: 8 ${x} ${y}`,
    /output\[0\]\.data_type: is TYPE_FP32, but the model's output "y" is of type tensor\(complex64\), for which/,
  ],
  [
    model,
    `max_batch_size: 8 input { name: "x" ${type} dims: [ 8, 16 ] }`,
    /input\[0\]\.dims: the model's input "x" has shape \[-1,16\], whose first dimension is the batch and is left out because max_batch_size is 8, but the configuration says \[8,16\]\. Expected dims: \[ 16 \]/,
  ],
  [model, `max_batch_size: 8 ${x.replace('16', '15')}`, /input\[0\]\.dims: .*says \[15\]/],
  [
    model,
    x,
    /input\[0\]\.dims: the model's input "x" has shape \[-1,16\], all of it: max_batch_size is 0, but the configuration says \[16\]\. Expected dims: \[ -1, 16 \]/,
  ],
  [model, `max_batch_size: 8 ${x.replace('16', '-1')}`, /input\[0\]\.dims: .*says \[-1\]/],
  [
    model,
    `max_batch_size: 8 ${x} ${y.replace('4', '-1')}`,
    /output\[0\]\.dims: .*says \[-1\]\. Expected dims: \[ 4 \]/,
  ],
  [
    model,
    `input { name: "x" ${type} dims: [ 5, 16 ] } output { name: "y" ${type} dims: [ 5, 4 ] }`,
    /output\[0\]\.dims: .*says \[5,4\]\. Expected dims: \[ -1, 4 \]/,
  ],
  [
    model,
    `max_batch_size: 8 ${x} output { name: "z" ${type} dims: 1 }`,
    /output\[0\]\.dims: .*\[-1\], whose first dimension is the batch.*says \[1\]\. Expected dims: \[ 1 \] and reshape \{ shape: \[ \] \}/,
  ],
  [
    model,
    `max_batch_size: 8 input { name: "x" ${type} dims: 15 reshape { shape: [ 3, 5 ] } }`,
    /input\[0\]\.reshape: .*says \[3,5\]\. Expected shape: \[ 16 \]/,
  ],
  [
    fixed,
    `max_batch_size: 8 ${x} ${y}`,
    /max_batch_size: is 8, but the model's input "x" has shape \[1,16\], whose first dimension is fixed to 1: it cannot be batched/,
    /max_batch_size: .*output "y" has shape \[1,4\]/,
  ],
  [
    flat,
    `max_batch_size: 2 input { name: "x" ${type} dims: 1 reshape { } } ${y}`,
    /max_batch_size: .*output "y" has shape \[\]: it cannot be batched/,
  ],
  [
    flat,
    `input { name: "x" ${type} dims: -1 } ${y}`,
    /output\[0\]\.dims: .*has shape \[\], but the configuration says \[4\]\. Expected dims: \[ 1 \]/,
  ],
  [
    rest,
    `max_batch_size: 8 ${x}`,
    /input: the configuration lacks the model's inputs "c" \(TYPE_FP32, shape \[-1,1\]\), "s"/,
  ],
  [
    rest,
    `max_batch_size: 8 ${x} sequence_batching { control_input { name: "C" } state { input_name: "s" output_name: "u" ${type} dims: 2 } }`,
    /control_input\[0\]\.name: the model has no input "C"/,
    /state\[0\]\.output_name: the model has no output "u"; its outputs are y, t/,
    /input: .*lacks the model's input "c"/,
  ],
  [
    rest,
    `max_batch_size: 8 ${x} batch_input { data_type: TYPE_INT32 target_name: [ "c", "s" ] }`,
    /batch_input\[0\]\.data_type: the model's input "c" has type .*, which is TYPE_FP32, but .* TYPE_INT32/,
    /batch_input\[0\]\.target_name\[0\]: BATCH_ELEMENT_COUNT makes a tensor of one dimension, but the model's input "c" has shape \[-1,1\]/,
    /batch_input\[0\]\.data_type: the model's input "s" has type .*/,
    /batch_input\[0\]\.target_name\[1\]: .*/,
  ],
  [
    rest,
    `max_batch_size: 8 ${x} batch_input { kind: BATCH_ITEM_SHAPE data_type: TYPE_FP32 target_name: [ "c", "s", "q" ] }`,
    /batch_input\[0\]\.target_name\[2\]: the model has no input "q"/,
  ],
  [{ ...model, mostRows: 8 }, `max_batch_size: 8 ${x} ${y}`],
  [
    { ...model, mostRows: 7 },
    `max_batch_size: 8 ${x} ${y}`,
    /max_batch_size: is 8, but a batch of the model has at most 7 rows/,
  ],
  [
    { ...model, mostRows: 0 },
    `max_batch_size: 8 ${x} ${y}`,
    /max_batch_size: is 8, but the model cannot be batched/,
  ],
  [
    model,
    `max_batch_size: 8 input { name: "x" ${type} dims: 16 is_shape_tensor: true } ${y}`,
    /input\[0\]\.is_shape_tensor: the model's input "x" is not a shape tensor/,
  ],
  [
    model,
    `max_batch_size: 8 input { name: "x" ${type} dims: 16 optional: true }`,
    /input\[0\]\.optional: the model needs its input "x"/,
  ],
  [
    model,
    `max_batch_size: 8 input { name: "x" ${type} dims: 16 allow_ragged_batch: true }`,
    /input\[0\]\.allow_ragged_batch: .* its shape is \[-1,16\]/,
  ],
] as const) {
  const shapes = [...description.inputs, ...description.outputs]
    .map(({ shape }) => `[${shape?.join() ?? 'unknown'}]`)
    .join(' ');
  test(`${text} for a model ${shapes} is ${patterns.length === 0 ? 'right' : 'refused'}`, () => {
    const found = reported((report) => {
      checkAgainstModel(normalized(text), description, report);
    });
    assert.equal(found.length, patterns.length, found.join('\n'));
    patterns.forEach((pattern: RegExp, index) => {
      assert.match(found[index] ?? '', pattern);
      assert.ok(found[index]?.startsWith('INVALID_ARG '));
    });
  });
}
