import assert from 'node:assert/strict';
import test from 'node:test';
import { ignoredStates, validateSequenceBatching } from '../../../src/config/rules/validate-sequences.js';
import { normalized } from '../helpers.js';
import { check } from './rule-cases.js';

const control = (kind: string, rest: string): string =>
  `sequence_batching { control_input { name: "c" control { kind: CONTROL_SEQUENCE_${kind} ${rest} } } }`;
const state = (rest: string): string =>
  `sequence_batching { state { input_name: "i" output_name: "o" data_type: TYPE_FP32 dims: [ -1, 4 ] ${rest} } }`;
const initial = (rest: string, name = 'name: "n"'): string =>
  state(`initial_state { data_type: TYPE_FP32 ${name} ${rest} }`);
const twoStates = (input: string, output: string): string =>
  state('').replace(
    / }$/,
    ` state { input_name: "${input}" output_name: "${output}" data_type: TYPE_FP32 dims: 4 } }`,
  );
check(validateSequenceBatching, [
  ['sequence_batching { oldest { max_candidate_sequences: 0 } }'],
  [
    'sequence_batching { oldest { max_candidate_sequences: -1 } }',
    /^INVALID_ARG sequence_batching\.oldest\.max_candidate_sequences: expected 0 or more but found -1$/,
  ],
  ['sequence_batching { direct { minimum_slot_utilization: 1 } }'],
  [
    'sequence_batching { direct { minimum_slot_utilization: 1.5 } }',
    /sequence_batching\.direct\.minimum_slot_utilization: expected a share from 0 to 1 but found 1\.5/,
  ],
  ['sequence_batching { direct { minimum_slot_utilization: nan } }', /found NaN/],
  [
    'max_batch_size: 4 sequence_batching { oldest { preferred_batch_size: 5 } }',
    /sequence_batching\.oldest\.preferred_batch_size\[0\]: .* found 5/,
  ],
  [control('START', 'int32_false_true: [ 0, 1 ] data_type: TYPE_FP32')],
  [control('READY', 'fp32_false_true: [ 0, 1 ]')],
  [control('END', 'bool_false_true: [ false, true ]')],
  [control('START', ''), /control_input\[0\]\.control\[0\]: expected one of .* but found none/],
  [
    control('START', 'int32_false_true: [ 0, 1 ] fp32_false_true: [ 0, 1 ]'),
    /but found int32_false_true and fp32_false_true/,
  ],
  [
    control('END', 'int32_false_true: 1'),
    /control\[0\]\.int32_false_true: expected two values, for false and true, but found 1/,
  ],
  [control('CORRID', 'data_type: TYPE_STRING')],
  [
    control('CORRID', 'data_type: TYPE_FP32'),
    /control\[0\]\.data_type: expected one of TYPE_UINT64.* but found TYPE_FP32/,
  ],
  [
    control('CORRID', 'data_type: TYPE_INT32 bool_false_true: [ false, true ]'),
    /bool_false_true: a correlation id has no values/,
  ],
  [
    'sequence_batching { control_input { } control_input { name: "a" } control_input { name: "a" } }',
    /control_input\[0\]\.name: missing/,
    /control_input\[0\]\.control: expected one control, .* found 0/,
    /control_input\[1\]\.control: expected one control/,
    /control_input\[2\]\.name: "a" is listed twice/,
    /control_input\[2\]\.control: expected one control/,
  ],
  [
    'sequence_batching { control_input { name: "a" control { int32_false_true: [0,1] } } control_input { name: "b" control { int32_false_true: [0,1] } } }',
    /control_input\[1\]\.control\[0\]\.kind: CONTROL_SEQUENCE_START is given twice/,
  ],
  [state('')],
  [
    'sequence_batching { state { } }',
    /input_name: missing/,
    /output_name: missing/,
    /data_type: missing/,
    /dims: missing/,
  ],
  [initial('dims: [ 7, 4 ] zero_data: false')],
  [initial('dims: [ 7, 4 ] data_file: "f"', ''), /initial_state\[0\]\.name: missing/],
  [
    initial('dims: [ -1, 4 ] zero_data: true'),
    /initial_state\[0\]\.dims: expected a fixed shape .*\[-1,4\].*\[-1,4\]/,
  ],
  [initial('dims: [ 1, 5 ] zero_data: true'), /initial_state\[0\]\.dims/],
  [initial('dims: [ 4 ] zero_data: true'), /initial_state\[0\]\.dims/],
  [initial('dims: [ 1, 4 ]'), /initial_state\[0\]: write one of zero_data and data_file/],
  [
    state('initial_state { name: "n" data_type: TYPE_INT8 dims: [ 1, 4 ] zero_data: true }'),
    /data_type: expected the state's type, TYPE_FP32, but found TYPE_INT8/,
  ],
  [
    state('initial_state { name: "n" data_type: TYPE_FP32 dims: [1,4] zero_data: true } initial_state { }'),
    /initial_state: expected at most one but found 2/,
  ],
  [state('use_same_buffer_for_input_output: true')],
  [state('use_growable_memory: true'), /use_growable_memory: needs use_same_buffer_for_input_output: true$/],
  [
    state('use_same_buffer_for_input_output: true use_growable_memory: true'),
    /use_growable_memory: needs instances on GPUs/,
  ],
  // Not even the CPU may have some of the instances.
  [
    `instance_group [ { kind: KIND_GPU gpus: 0 }, { kind: KIND_CPU } ] ${state('use_same_buffer_for_input_output: true use_growable_memory: true')}`,
    /use_growable_memory: needs instances on GPUs/,
  ],
  [
    `instance_group { kind: KIND_GPU gpus: 0 } ${state('use_same_buffer_for_input_output: true use_growable_memory: true')}`,
  ],
  // The dims of a first state, with 1 for variable ones, count; those of an initial state, if there is one.
  [state('').replace('[ -1, 4 ]', '[ -1, 1073741824 ]')],
  [
    state('').replace('[ -1, 4 ]', '[ -1, 1073741825 ]'),
    /state\[0\]\.dims: expected at most 4294967296 bytes/,
  ],
  [
    initial('dims: [ 268435457, 4 ] zero_data: true'),
    /state\[0\]\.initial_state\[0\]\.dims: expected at most 4294967296 bytes \(4 GiB\) but TYPE_FP32 of dims \[268435457,4\] has more/,
  ],
  [state('').replace('[ -1, 4 ]', '[ 0, 4 ]')],
  [
    state('').replace('[ -1, 4 ]', '[ -2, 4 ]'),
    /state\[0\]\.dims: expected dims of 0 or more, or -1, but found \[-2,4\]/,
  ],
  [state('').replace('[ -1, 4 ]', `[ ${Array(1025).fill('1').join()} ]`), /state\[0\]\.dims: .*1025/],
  // As in Triton, an entry with the input or the output of an earlier one is ignored.
  [twoStates('i', 'p')],
  [twoStates('j', 'o')],
  [`input { name: "i" } ${state('')}`, /state\[0\]\.input_name: "i" is input\[0\], too/],
  [`batch_input { target_name: "i" } ${state('')}`, /input_name: "i" is batch_input\[0\], too/],
  [`output { name: "o" data_type: TYPE_FP32 } ${state('')}`],
  [
    `output { name: "o" data_type: TYPE_FP16 } ${state('')}`,
    /state\[0\]\.data_type: expected TYPE_FP16, the type of output\[0\], but found TYPE_FP32/,
  ],
]);

test('an ignored state is noted', () => {
  const notes = (text: string): string[] => ignoredStates(normalized(text));
  assert.deepEqual(notes(twoStates('j', 'p')), []);
  for (const text of [twoStates('i', 'p'), twoStates('j', 'o')]) {
    assert.equal(notes(text).length, 1);
    assert.match(notes(text)[0] ?? '', /^sequence_batching\.state\[1\]: accepted, without effect here: /);
  }
});
