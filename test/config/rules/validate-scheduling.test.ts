import { validateEnsemble } from '../../../src/config/rules/validate-ensemble.js';
import { validateDynamicBatching } from '../../../src/config/rules/validate-scheduling.js';
import { check } from './rule-cases.js';

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
