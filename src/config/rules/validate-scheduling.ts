/** Triton's rules for dynamic and sequence batching. */

import { shapeText } from './description.js';
import { fieldPath, indexPath, keyPath } from '../schema/paths.js';
import type { Report } from '../text/problems.js';
import type {
  DataType,
  ModelConfig,
  ModelDynamicBatching,
  ModelQueuePolicy,
  ModelSequenceBatchingControl,
  ModelSequenceBatchingState,
} from '../schema/types.js';

/** Checks `dynamic_batching`. */
export function validateDynamicBatching(config: ModelConfig, report: Report): void {
  const batching = config.dynamic_batching;
  if (batching === undefined) return;
  checkPreferredSizes(batching.preferred_batch_size, config, 'dynamic_batching.preferred_batch_size', report);
  checkPriorities(batching, report);
  if (!batching.preserve_ordering) return;
  const path = 'dynamic_batching.preserve_ordering';
  if (batching.priority_levels > 1) {
    report(path, `cannot be kept with priorities, but priority_levels is ${batching.priority_levels}`);
  }
  for (const [at, policy] of queuePolicies(batching)) {
    if (policy.timeout_action !== 'DELAY' || policy.default_timeout_microseconds === 0) continue;
    report(path, `cannot be kept with ${at}, which moves expired requests behind others (DELAY)`);
  }
}

function checkPreferredSizes(
  sizes: readonly number[],
  config: ModelConfig,
  path: string,
  report: Report,
): void {
  const max = config.max_batch_size;
  sizes.forEach((size, index) => {
    if (size > 0 && size <= max) return;
    const missing = max === 0 ? ' (write max_batch_size: without it there is no batching)' : '';
    report(
      indexPath(path, index),
      `expected 1 to max_batch_size, which is ${max}, but found ${size}${missing}`,
    );
  });
}

/** Without priority levels, Triton does not check any of this. */
function checkPriorities(batching: ModelDynamicBatching, report: Report): void {
  const levels = batching.priority_levels;
  if (levels === 0) return;
  const level = batching.default_priority_level;
  if (level < 1 || level > levels) {
    report(
      'dynamic_batching.default_priority_level',
      `expected 1 to priority_levels, ${levels}, but found ${level}`,
    );
  }
  for (const key of Object.keys(batching.priority_queue_policy)) {
    if (Number(key) >= 1 && Number(key) <= levels) continue;
    const path = keyPath('dynamic_batching.priority_queue_policy', key);
    report(path, `expected a level from 1 to priority_levels, ${levels}`);
  }
}

function queuePolicies(batching: ModelDynamicBatching): [path: string, policy: ModelQueuePolicy][] {
  const { default_queue_policy: general, priority_queue_policy: own } = batching;
  return [
    ...(general ? [['default_queue_policy', general] as [string, ModelQueuePolicy]] : []),
    ...Object.entries(own).map(([key, policy]): [string, ModelQueuePolicy] => [
      keyPath('priority_queue_policy', key),
      policy,
    ]),
  ];
}

/** Checks `sequence_batching`. */
export function validateSequenceBatching(config: ModelConfig, report: Report): void {
  const sequence = config.sequence_batching;
  if (sequence === undefined) return;
  const sizes = sequence.oldest?.preferred_batch_size ?? [];
  checkPreferredSizes(sizes, config, 'sequence_batching.oldest.preferred_batch_size', report);
  const candidates = sequence.oldest?.max_candidate_sequences ?? 0;
  if (candidates < 0) {
    const path = 'sequence_batching.oldest.max_candidate_sequences';
    report(path, `expected 0 or more but found ${candidates}`);
  }
  const share = sequence.direct?.minimum_slot_utilization ?? 0;
  if (!(share >= 0 && share <= 1)) {
    report(
      'sequence_batching.direct.minimum_slot_utilization',
      `expected a share from 0 to 1 but found ${share}`,
    );
  }
  const seen = new Set<string>();
  sequence.control_input.forEach((input, index) => {
    const path = indexPath('sequence_batching.control_input', index);
    if (input.name === '') report(fieldPath(path, 'name'), 'missing: write the name of the input');
    else if (sequence.control_input.findIndex(({ name }) => name === input.name) < index) {
      report(fieldPath(path, 'name'), `${JSON.stringify(input.name)} is listed twice`);
    }
    input.control.forEach((control, position) => {
      const at = indexPath(fieldPath(path, 'control'), position);
      if (seen.has(control.kind)) report(fieldPath(at, 'kind'), `${control.kind} is given twice`);
      seen.add(control.kind);
      checkControl(control, at, report);
    });
  });
  sequence.state.forEach((state, index) => {
    checkState(state, indexPath('sequence_batching.state', index), report);
  });
}

const correlationTypes: readonly DataType[] = [
  'TYPE_UINT64',
  'TYPE_INT64',
  'TYPE_UINT32',
  'TYPE_INT32',
  'TYPE_STRING',
];

function checkControl(control: ModelSequenceBatchingControl, path: string, report: Report): void {
  const names = ['int32_false_true', 'fp32_false_true', 'bool_false_true'] as const;
  const given = names.filter((name) => control[name].length > 0);
  if (control.kind === 'CONTROL_SEQUENCE_CORRID') {
    for (const name of given)
      report(fieldPath(path, name), 'a correlation id has no values for false and true');
    if (!correlationTypes.includes(control.data_type)) {
      const text = `expected one of ${correlationTypes.join(', ')} but found ${control.data_type}`;
      report(fieldPath(path, 'data_type'), text);
    }
    return;
  }
  if (given.length !== 1) {
    report(
      path,
      `expected one of ${names.join(', ')} but found ${given.length === 0 ? 'none' : given.join(' and ')}`,
    );
  }
  for (const name of given) {
    const count = control[name].length;
    if (count !== 2)
      report(fieldPath(path, name), `expected two values, for false and true, but found ${count}`);
  }
}

function checkState(state: ModelSequenceBatchingState, path: string, report: Report): void {
  const missing = (name: string): void => {
    report(fieldPath(path, name), 'missing');
  };
  if (state.input_name === '') missing('input_name');
  if (state.output_name === '') missing('output_name');
  if (state.data_type === 'TYPE_INVALID') missing('data_type');
  if (state.dims.length === 0) missing('dims');
  const { initial_state: initials } = state;
  if (initials.length > 1) {
    report(fieldPath(path, 'initial_state'), `expected at most one but found ${initials.length}`);
  }
  const [initial] = initials;
  if (initial === undefined) return;
  const at = indexPath(fieldPath(path, 'initial_state'), 0);
  if (initial.name === '') report(fieldPath(at, 'name'), 'missing: an initial state needs a name');
  if (initial.data_type !== state.data_type) {
    report(
      fieldPath(at, 'data_type'),
      `expected the state's type, ${state.data_type}, but found ${initial.data_type}`,
    );
  }
  const both = `the state has ${shapeText(state.dims)}, its initial value ${shapeText(initial.dims)}`;
  const fits =
    initial.dims.length === state.dims.length &&
    initial.dims.every((dim, index) => dim >= 0 && (state.dims[index] === -1 || dim === state.dims[index]));
  if (!fits) report(fieldPath(at, 'dims'), `expected a fixed shape that fits the state: ${both}`);
  if (initial.zero_data === undefined && initial.data_file === undefined) {
    report(at, 'write one of zero_data and data_file');
  }
}
