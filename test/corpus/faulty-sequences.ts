/** Files whose `sequence_batching` breaks a rule of Triton, or does not fit the model. */

import { withLine, type Faulty } from './faulty-base.js';

/** A file with something in `sequence_batching`, from line 7 on. */
function sequences(what: string, part: string, line: number, field: string, text: string): Faulty {
  return {
    what,
    content: withLine(`sequence_batching {\n${part}\n}`),
    fault: { line, field: `sequence_batching.${field}`, text },
  };
}

const start = 'control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] }';
const control = (rest: string): string => `control_input {\n  name: "c"\n  control {\n    ${rest}\n  }\n}`;
const state = (rest: string, names = 'input_name: "s" output_name: "t"'): string =>
  `state {\n  ${names}\n  data_type: TYPE_FP32\n  dims: [ 4 ]\n  ${rest}\n}`;
const initial = (rest: string, name = 'name: "zeros"'): string =>
  state(`initial_state {\n    ${name} data_type: TYPE_FP32\n    dims: [ 4 ]\n    ${rest}\n  }`);

const strategies: readonly Faulty[] = [
  sequences(
    'two strategies',
    'direct { }\noldest { }',
    8,
    'oldest',
    'only one of direct (line 7) and oldest can be set',
  ),
  sequences(
    'a preferred size above max_batch_size',
    'oldest {\n  preferred_batch_size: 9\n}',
    8,
    'oldest.preferred_batch_size[0]',
    'expected 1 to max_batch_size, which is 8, but found 9',
  ),
  sequences(
    'a preferred size of 0',
    'oldest {\n  preferred_batch_size: [ 4, 0 ]\n}',
    8,
    'oldest.preferred_batch_size[1]',
    'but found 0',
  ),
  sequences(
    'a negative number of candidates',
    'oldest { max_candidate_sequences: -1 }',
    7,
    'oldest.max_candidate_sequences',
    'expected 0 or more but found -1',
  ),
  sequences(
    'a share of slots above 1',
    'direct { minimum_slot_utilization: 1.5 }',
    7,
    'direct.minimum_slot_utilization',
    'expected a share from 0 to 1 but found 1.5',
  ),
  sequences(
    'a negative share of slots',
    'direct { minimum_slot_utilization: -0.5 }',
    7,
    'direct.minimum_slot_utilization',
    'but found -0.5',
  ),
  sequences('a strategy that Triton does not have', 'newest { }', 7, 'newest', 'newest'),
];

const controls: readonly Faulty[] = [
  sequences(
    'a control without a name',
    `control_input { ${start} }`,
    7,
    'control_input[0].name',
    'missing: write the name of the input',
  ),
  sequences(
    'an input for two controls',
    `control_input { name: "c" ${start} }\ncontrol_input { name: "c" control { kind: CONTROL_SEQUENCE_END int32_false_true: [ 0, 1 ] } }`,
    8,
    'control_input[1].name',
    '"c" is listed twice',
  ),
  sequences(
    'two kinds in one control tensor',
    `control_input {\n  name: "c"\n  ${start}\n  control { kind: CONTROL_SEQUENCE_END int32_false_true: [ 0, 1 ] }\n}`,
    10,
    'control_input[0].control',
    'expected one control, because the tensor has one value, but found 2',
  ),
  sequences(
    'a control tensor without a control',
    'control_input { name: "c" }',
    7,
    'control_input[0].control',
    'but found 0',
  ),
  sequences(
    'a kind that is given twice',
    `control_input { name: "c" ${start} }\ncontrol_input { name: "d" ${start} }`,
    8,
    'control_input[1].control[0].kind',
    'CONTROL_SEQUENCE_START is given twice',
  ),
  sequences(
    'a control without values',
    control('kind: CONTROL_SEQUENCE_READY'),
    9,
    'control_input[0].control[0]',
    'expected one of int32_false_true, fp32_false_true, bool_false_true but found none',
  ),
  sequences(
    'a control with values of two types',
    control('kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] bool_false_true: [ false, true ]'),
    9,
    'control_input[0].control[0]',
    'but found int32_false_true and bool_false_true',
  ),
  sequences(
    'a control with one value',
    control('kind: CONTROL_SEQUENCE_END\n    fp32_false_true: [ 1 ]'),
    11,
    'control_input[0].control[0].fp32_false_true',
    'expected two values, for false and true, but found 1',
  ),
  sequences(
    'a correlation id with values',
    control('kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_INT64\n    int32_false_true: [ 0, 1 ]'),
    11,
    'control_input[0].control[0].int32_false_true',
    'a correlation id has no values for false and true',
  ),
  sequences(
    'a correlation id without a type',
    control('kind: CONTROL_SEQUENCE_CORRID'),
    9,
    'control_input[0].control[0].data_type',
    'expected one of TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32, TYPE_STRING but found TYPE_INVALID',
  ),
  sequences(
    'a correlation id of another type',
    control('kind: CONTROL_SEQUENCE_CORRID\n    data_type: TYPE_FP32'),
    11,
    'control_input[0].control[0].data_type',
    'but found TYPE_FP32',
  ),
  sequences(
    'a control that is an input, too',
    `control_input { name: "x" ${start} }`,
    7,
    'control_input[0].name',
    '"x" is input[0], too; an input has only one source',
  ),
  sequences(
    'a control that the model lacks',
    `control_input { name: "START" ${start} }`,
    7,
    'control_input[0].name',
    'the model has no input "START"; its inputs are x',
  ),
];

const states: readonly Faulty[] = [
  sequences('a state without anything', 'state { }', 7, 'state[0].input_name', 'missing'),
  sequences(
    'a state without an output',
    'state {\n  input_name: "s"\n}',
    7,
    'state[0].output_name',
    'missing',
  ),
  sequences(
    'a state without a type',
    'state {\n  input_name: "s" output_name: "t"\n  dims: [ 4 ]\n}',
    7,
    'state[0].data_type',
    'missing',
  ),
  sequences(
    'a state without dims',
    'state {\n  input_name: "s" output_name: "t"\n  data_type: TYPE_FP32\n}',
    7,
    'state[0].dims',
    'missing',
  ),
  sequences(
    'a state with more dims than a tensor has',
    state('').replace('[ 4 ]', `[ ${Array.from({ length: 1100 }, () => 1).join(', ')} ]`),
    10,
    'state[0].dims',
    'at most',
  ),
  sequences('a state with a dim below -1', state('').replace('[ 4 ]', '[ -2 ]'), 10, 'state[0].dims', '[-2]'),
  sequences(
    'a state that fits in no memory',
    state('').replace('[ 4 ]', '[ 65536, 65536 ]'),
    10,
    'state[0].dims',
    'expected at most 4294967296 bytes (4 GiB) but TYPE_FP32 of dims [65536,65536] has more',
  ),
  sequences(
    'a state that is an input, too',
    state('', 'input_name: "x" output_name: "t"'),
    8,
    'state[0].input_name',
    '"x" is input[0], too',
  ),
  sequences(
    'a state that is a control, too',
    `control_input { name: "s" ${start} }\n${state('')}`,
    9,
    'state[0].input_name',
    '"s" is sequence_batching.control_input[0], too',
  ),
  sequences(
    'a state of another type than its output',
    state('', 'input_name: "s" output_name: "y"').replace('FP32', 'INT64'),
    9,
    'state[0].data_type',
    'expected TYPE_FP32, the type of output[0], but found TYPE_INT64',
  ),
  sequences(
    'an input with two initial states',
    `${initial('zero_data: true')}\n${initial('zero_data: true').replace('"t"', '"u"')}`,
    21,
    'state[1].initial_state',
    'the input "s" has an initial state already',
  ),
  sequences(
    'two initial states of one state',
    state(
      'initial_state { name: "a" data_type: TYPE_FP32 dims: [ 4 ] zero_data: true }\n  initial_state { }',
    ),
    12,
    'state[0].initial_state',
    'expected at most one but found 2',
  ),
  sequences(
    'an initial state without a name',
    initial('zero_data: true', ''),
    11,
    'state[0].initial_state[0].name',
    'missing: an initial state needs a name',
  ),
  sequences(
    'an initial state of another type',
    initial('zero_data: true').replace('"zeros" data_type: TYPE_FP32', '"zeros" data_type: TYPE_INT32'),
    12,
    'state[0].initial_state[0].data_type',
    "expected the state's type, TYPE_FP32, but found TYPE_INT32",
  ),
  ...(['[ 5 ]', '[ -1 ]', '[ 4, 1 ]'] as const).map((dims) =>
    sequences(
      `an initial state with dims ${dims}`,
      initial('zero_data: true').replace('    dims: [ 4 ]', `    dims: ${dims}`),
      13,
      'state[0].initial_state[0].dims',
      'expected a fixed shape that fits the state: the state has [4], its initial value',
    ),
  ),
  sequences(
    'an initial state without data',
    initial(''),
    11,
    'state[0].initial_state[0]',
    'write one of zero_data and data_file',
  ),
  sequences(
    'an initial state with two kinds of data',
    initial('zero_data: true\n    data_file: "s.bin"'),
    15,
    'state[0].initial_state[0].data_file',
    'only one of zero_data (line 14) and data_file can be set',
  ),
  sequences(
    'an initial state from a file elsewhere',
    initial('data_file: "../../secret"'),
    14,
    'state[0].initial_state[0].data_file',
    `"../../secret" leads out of the model's folder 'initial_state'`,
  ),
  sequences(
    'an initial state from an absolute path',
    initial('data_file: "/etc/passwd"'),
    14,
    'state[0].initial_state[0].data_file',
    'found the absolute path "/etc/passwd"',
  ),
  sequences(
    'an initial state from a file without a name',
    initial('data_file: ""'),
    14,
    'state[0].initial_state[0].data_file',
    'missing: write the name of a file',
  ),
  sequences(
    'memory that grows without a shared buffer',
    state('use_growable_memory: true'),
    11,
    'state[0].use_growable_memory',
    'needs use_same_buffer_for_input_output: true',
  ),
  sequences(
    'memory that grows on the CPU',
    state('use_same_buffer_for_input_output: true\n  use_growable_memory: true'),
    12,
    'state[0].use_growable_memory',
    'needs instances on GPUs (KIND_GPU)',
  ),
  sequences(
    'a state that the model lacks',
    state(''),
    8,
    'state[0].input_name',
    'the model has no input "s"; its inputs are x',
  ),
];

const others: readonly Faulty[] = [
  {
    what: 'a response cache beside sequences',
    content: withLine('sequence_batching { }\nresponse_cache { enable: true }'),
    fault: {
      line: 7,
      field: 'response_cache.enable',
      text: 'a sequence model cannot use the response cache',
    },
  },
  {
    what: 'a batching strategy beside sequences',
    content: withLine(
      'sequence_batching { }\nparameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: "s.so" } }',
    ),
    fault: {
      line: 7,
      field: 'parameters["TRITON_BATCH_STRATEGY_PATH"]',
      text: 'a sequence model cannot have its own batching strategy',
    },
  },
  {
    what: 'batches of sequences that are run again',
    content: withLine(
      'sequence_batching { }\nparameters { key: "rerun_in_halves" value { string_value: "true" } }',
    ),
    fault: {
      line: 7,
      field: 'parameters["rerun_in_halves"]',
      text: 'a batch of a sequence model is not run again',
    },
  },
  {
    what: 'sequences beside dynamic batching',
    content: withLine('dynamic_batching { }\nsequence_batching { }'),
    fault: {
      line: 7,
      field: 'sequence_batching',
      text: 'only one of dynamic_batching (line 6) and sequence_batching can be set',
    },
  },
  {
    what: 'states without an input section',
    content: withLine(
      `sequence_batching { state { input_name: "x" output_name: "y" data_type: TYPE_FP32 dims: [ 16 ] } }`,
    ).replace(/^input .*$/m, ''),
    fault: {
      line: 0,
      field: 'input',
      text: 'missing: with state or control_input, both input and output must be written',
    },
  },
];

/** See the head of this file. */
export const sequenceFaults: readonly Faulty[] = [...strategies, ...controls, ...states, ...others];
