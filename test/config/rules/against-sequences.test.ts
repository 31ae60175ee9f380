import assert from 'node:assert/strict';
import test from 'node:test';
import { checkAgainstModel } from '../../../src/config/rules/against-model.js';
import type { ModelDescription, TensorDescription } from '../../../src/config/rules/description.js';
import type { Datatype } from '../../../src/tensor/datatype.js';
import { normalized, reported } from '../helpers.js';

const tensor = (
  name: string,
  shape: readonly number[] | undefined,
  datatype: Datatype = 'FP32',
): TensorDescription => ({
  name,
  datatype,
  typeName: `tensor(${datatype})`,
  shape,
  optional: false,
  dimNames: [],
});

/** A model with the input x, and others. */
const model = (
  inputs: readonly TensorDescription[],
  outputs: readonly TensorDescription[] = [],
  batch: readonly number[] = [-1],
): ModelDescription => ({
  inputs: [tensor('x', [...batch, 16]), ...inputs],
  outputs: [tensor('y', [...batch, 4]), ...outputs],
});

const x = 'input { name: "x" data_type: TYPE_FP32 dims: 16 }';
const y = 'output { name: "y" data_type: TYPE_FP32 dims: 4 }';
const control = (what: string): string =>
  `sequence_batching { control_input { name: "c" control { ${what} } } }`;
const start = control('kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ]');
const id = control('kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64');
const state = (dims: string, more = ''): string =>
  `sequence_batching { state { input_name: "s" output_name: "t" data_type: TYPE_FP32 dims: ${dims} ${more} } }`;
const initial = (dims: string): string =>
  `initial_state { name: "i" data_type: TYPE_FP32 dims: ${dims} zero_data: true }`;

const states = (from: readonly number[] | undefined, to: readonly number[] | undefined): ModelDescription =>
  model([tensor('s', from)], [tensor('t', to)]);

for (const [description, text, ...patterns] of [
  // Control tensors have one value for each request.
  [model([tensor('c', [-1, 1], 'INT32')]), start],
  [model([tensor('c', undefined, 'INT32')]), start],
  [model([tensor('c', [-1, 1], 'UINT64')]), id],
  [
    model([tensor('c', [-1, 1], 'BOOL')]),
    control('kind: CONTROL_SEQUENCE_END bool_false_true: [ false, true ]'),
  ],
  [
    model([tensor('c', [-1, 1], 'FP32')]),
    start,
    /^INVALID_ARG sequence_batching\.control_input\[0\]\.control\[0\]\.int32_false_true: the model's input "c" has type tensor\(FP32\), which is TYPE_FP32, but the configuration says TYPE_INT32$/,
  ],
  [
    model([tensor('c', [-1, 1], 'INT32')]),
    control('kind: CONTROL_SEQUENCE_END bool_false_true: [ false, true ]'),
    /control\[0\]\.bool_false_true: .* says TYPE_BOOL/,
  ],
  [model([tensor('c', [-1, 1], 'INT64')]), id, /control\[0\]\.data_type: .* says TYPE_UINT64/],
  [
    model([{ ...tensor('c', [-1, 1]), datatype: undefined }]),
    id,
    /data_type: is TYPE_UINT64, but .*, for which Triton has no name/,
  ],
  [
    model([tensor('c', [-1, 2], 'INT32')]),
    start,
    /control_input\[0\]\.name: the model's input "c" has shape \[-1,2\], but a control tensor has one value for each request\. Expected shape \[-1,1\]/,
  ],
  [model([tensor('c', [-1], 'INT32')]), start, /control_input\[0\]\.name: .* shape \[-1\], but/],
  [model([tensor('c', [-1, -1], 'INT32')]), start, /control_input\[0\]\.name: .* shape \[-1,-1\], but/],
  [
    model([tensor('c', [1, 1], 'INT32')]),
    start,
    /^INVALID_ARG max_batch_size: is 8, but the model's input "c" has shape \[1,1\], whose first dimension is fixed to 1/,
  ],

  // The first state fits the input, and so does what the output gives.
  [states([-1, 4], [-1, 4]), state('4')],
  [states([-1, -1], [-1, -1]), state('1')],
  [states([-1, -1], [-1, 4]), state('-1', initial('0'))],
  [states([-1, 4], [-1, -1]), state('4')],
  [states(undefined, undefined), state('4')],
  [states([-1, 4], [-1, 4]), state('-1', initial('4'))],
  [states([-1, 4], [-1, 4]), state('4', 'use_same_buffer_for_input_output: true')],
  [
    states([-1, 4], [-1, 4]),
    state('-1'),
    /state\[0\]\.dims: the model's input "s" has shape \[4\] without the batch dimension, but the state of a new sequence has \[1\]/,
  ],
  [
    states([-1, 4], [-1, 4]),
    state('-1', initial('5')),
    /state\[0\]\.initial_state\[0\]\.dims: the model's input "s" .* has \[5\]/,
  ],
  [states([-1, 4], [-1, 4]), state('[ 2, 2 ]'), /state\[0\]\.dims: .* has \[2,2\]/],
  [
    states([-1, 4], [-1, 5]),
    state('4'),
    /state\[0\]\.output_name: the model's output "t" has shape \[5\] without the batch dimension, but the next input "s" has \[4\]/,
  ],
  [states([-1, -1], [-1, 4, 1]), state('1'), /output_name: .* shape \[4,1\] .* has \[-1\]/],
  [
    states([-1, -1], [-1, 5]),
    state('4', 'use_same_buffer_for_input_output: true'),
    /state\[0\]\.use_same_buffer_for_input_output: the model's output "t" has shape \[5\] .* keeps the shape \[4\]/,
  ],
  [states([1, 4], [-1, 4]), state('4'), /max_batch_size: is 8, but the model's input "s" has shape \[1,4\]/],
  [states([-1, 4], [4]), state('4'), /max_batch_size: is 8, but the model's output "t" has shape \[4\]/],
  [
    model([tensor('s', [-1, 4], 'INT32')], [tensor('t', [-1, 4], 'FP16')]),
    state('4'),
    /state\[0\]\.data_type: the model's input "s" has type tensor\(INT32\), .* says TYPE_FP32/,
    /state\[0\]\.data_type: the model's output "t" has type tensor\(FP16\), .* says TYPE_FP32/,
  ],
  // A declared output is compared with its own entry.
  [model([tensor('s', [-1, 4])]), state('4').replace('"t"', '"y"')],
  // An entry with the input of an earlier one is ignored.
  [
    states([-1, 4], [-1, 4]),
    state('4').replace(/ }$/, ' state { input_name: "s" output_name: "no" data_type: TYPE_INT8 dims: 9 } }'),
  ],
  // The output of the second entry is the first one's, so nothing gives its input a value.
  [
    model([tensor('s', [-1, 4]), tensor('q', [-1, 4])], [tensor('t', [-1, 4])]),
    state('4').replace(/ }$/, ' state { input_name: "q" output_name: "t" data_type: TYPE_FP32 dims: 4 } }'),
    /input: the configuration lacks the model's input "q"/,
  ],
] as const) {
  test(`${text} with ${description.inputs.map(({ shape }) => `[${String(shape)}]`).join()} ${patterns.length === 0 ? 'fits' : 'does not fit'}`, () => {
    const config = normalized(`max_batch_size: 8 ${x} ${y} ${text}`);
    const found = reported((report) => {
      checkAgainstModel(config, description, report);
    });
    assert.equal(found.length, patterns.length, found.join('\n'));
    patterns.forEach((pattern, index) => {
      assert.match(found[index] ?? '', pattern);
    });
  });
}

test('without batches the tensors have no batch dimension, and a state without dims has the shape [1]', () => {
  const check = (text: string, description: ModelDescription): string[] =>
    reported((report) => {
      checkAgainstModel(normalized(`${x} ${y} ${text}`), description, report);
    });
  assert.deepEqual(check(start, model([tensor('c', [1], 'INT32')], [], [])), []);
  assert.deepEqual(check(state('1'), model([tensor('s', [])], [tensor('t', [])], [])), []);
  assert.match(
    check(start, model([tensor('c', [], 'INT32')], [], [])).join(),
    /has shape \[\], but a control tensor has one value for each request\. Expected shape \[1\]$/,
  );
  assert.match(
    check(state('2'), model([tensor('s', [])], [tensor('t', [])], [])).join(),
    /state\[0\]\.dims: the model's input "s" has shape \[1\], but the state of a new sequence has \[2\]$/,
  );
});
