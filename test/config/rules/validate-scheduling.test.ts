import assert from 'node:assert/strict';
import test from 'node:test';
import { validateEnsemble } from '../../../src/config/rules/validate-ensemble.js';
import {
  validateDynamicBatching,
  validateSequenceBatching,
} from '../../../src/config/rules/validate-scheduling.js';
import type { Report } from '../../../src/config/text/problems.js';
import type { ModelConfig } from '../../../src/config/schema/types.js';
import { normalized, reported } from '../helpers.js';

type Case = readonly [text: string, ...patterns: RegExp[]];

function check(rule: (config: ModelConfig, report: Report) => void, cases: readonly Case[]): void {
  for (const [text, ...patterns] of cases) {
    test(`${text} ${patterns.length === 0 ? 'is valid' : 'is refused'}`, () => {
      const found = reported((report) => {
        rule(normalized(text), report);
      });
      assert.equal(found.length, patterns.length, found.join('\n'));
      patterns.forEach((pattern, index) => {
        assert.match(found[index] ?? '', pattern);
      });
    });
  }
}

const levels = 'priority_levels: 2 default_priority_level: 1';
check(validateDynamicBatching, [
  ['dynamic_batching { }'],
  ['max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 1, 8 ] }'],
  [
    'dynamic_batching { preferred_batch_size: 4 }',
    /^INVALID_ARG dynamic_batching\.preferred_batch_size\[0\]: expected 1 to max_batch_size, which is 0, but found 4 \(write max_batch_size/,
  ],
  [
    'max_batch_size: 8 dynamic_batching { preferred_batch_size: [ 4, 9, 0 ] }',
    /\[1\]: .* found 9$/,
    /\[2\]: .* found 0$/,
  ],
  [`dynamic_batching { ${levels} priority_queue_policy { key: 2 value { } } }`],
  ['dynamic_batching { default_priority_level: 7 priority_queue_policy { key: 9 value { } } }'],
  [
    'dynamic_batching { priority_levels: 2 }',
    /default_priority_level: expected 1 to priority_levels, 2, but found 0/,
  ],
  ['dynamic_batching { priority_levels: 2 default_priority_level: 3 }', /default_priority_level: .* found 3/],
  [
    `dynamic_batching { ${levels} priority_queue_policy { key: 0 value { } } priority_queue_policy { key: 3 value { } } }`,
    /priority_queue_policy\["0"\]: expected a level from 1/,
    /priority_queue_policy\["3"\]/,
  ],
  ['dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY } }'],
  ['dynamic_batching { preserve_ordering: true default_queue_policy { default_timeout_microseconds: 5 } }'],
  ['dynamic_batching { preserve_ordering: true priority_levels: 1 default_priority_level: 1 }'],
  [
    `dynamic_batching { preserve_ordering: true ${levels} }`,
    /preserve_ordering: cannot be kept with priorities, but priority_levels is 2/,
  ],
  [
    'dynamic_batching { preserve_ordering: true default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 5 } }',
    /preserve_ordering: cannot be kept with default_queue_policy/,
  ],
  [
    'dynamic_batching { preserve_ordering: true priority_queue_policy { key: 1 value { timeout_action: DELAY default_timeout_microseconds: 5 } } }',
    /cannot be kept with priority_queue_policy\["1"\]/,
  ],
]);

const control = (kind: string, rest: string): string =>
  `sequence_batching { control_input { name: "c" control { kind: CONTROL_SEQUENCE_${kind} ${rest} } } }`;
const state = (rest: string): string =>
  `sequence_batching { state { input_name: "i" output_name: "o" data_type: TYPE_FP32 dims: [ -1, 4 ] ${rest} } }`;
const initial = (rest: string, name = 'name: "n"'): string =>
  state(`initial_state { data_type: TYPE_FP32 ${name} ${rest} }`);
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
    /control_input\[2\]\.name: "a" is listed twice/,
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
]);

const step = (name: string, from: string, to: string): string =>
  `step { model_name: "${name}" input_map { key: "i" value: "${from}" } output_map { key: "o" value: "${to}" } }`;
const ensemble = (steps: string, more = ''): string =>
  `platform: "ensemble" input { name: "A" } output { name: "Z" } ensemble_scheduling { ${steps} } ${more}`;
check(validateEnsemble, [
  ['backend: "identity"'],
  [ensemble(step('one', 'A', 'Z'))],
  [ensemble(step('two', 'B', 'Z') + step('one', 'A', 'B'))],
  ['platform: "ensemble"', /^INVALID_ARG ensemble_scheduling: missing/],
  [
    ensemble(step('one', 'A', 'Z')).replace('"ensemble"', '"x"'),
    /platform: ensemble_scheduling needs platform: "ensemble" but found "x"/,
  ],
  [
    ensemble(step('one', 'A', 'Z'), 'instance_group { } optimization { } model_warmup { }'),
    /instance_group: an ensemble has no/,
    /optimization: /,
    /model_warmup: /,
  ],
  [
    ensemble(''),
    /step: missing/,
    /output\[0\]: no step that can be reached produces "Z"/,
    /input\[0\]: no step uses "A"/,
  ],
  [
    ensemble(`${step('one', 'A', 'Z')} step { }`),
    /step\[1\]\.model_name: missing/,
    /step\[1\]\.input_map: missing/,
    /step\[1\]\.output_map: missing/,
  ],
  [
    ensemble(step('one', 'A', 'Z') + step('two', 'A', 'Z')),
    /step\[1\]\.output_map: tensor "Z" is produced twice: it is also an output of ensemble_scheduling\.step\[0\]/,
  ],
  [
    ensemble(step('one', 'A', 'Z') + step('two', 'Z', 'A')),
    /step\[1\]\.output_map: tensor "A" is produced twice: it is also an input/,
  ],
  [
    ensemble(step('one', 'A', 'Z') + step('two', 'A', 'B')),
    /step\[1\]\.output_map: no step and no output uses tensor "B"/,
  ],
  [
    ensemble(step('one', 'A', 'B') + step('two', 'C', 'Z')),
    /step\[1\]\.input_map: "C" cannot be reached/,
    /output\[0\]: no step/,
    /step\[0\]\.output_map: no step and no output uses tensor "B"/,
  ],
  [
    ensemble(step('one', 'A', 'Z') + step('two', 'D', 'C') + step('three', 'C', 'D')),
    /step\[1\]\.input_map: "D" cannot be reached/,
    /step\[2\]\.input_map: "C" cannot be reached/,
  ],
]);
