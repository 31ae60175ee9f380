/** Triton's rules for sequence batching. */

import { isAbsolute, win32 } from 'node:path';
import { maxTensorBytes } from '../../tensor/max-bytes.js';
import { datatypeSize } from '../../tensor/datatype.js';
import { datatypeOf, shapeText } from './description.js';
import { leadsOut } from './leads-out.js';
import { firstDims, keptStates } from './sequence-tensors.js';
import { checkPreferredSizes } from './validate-scheduling.js';
import { mostDims, tooManyDims } from './validate-tensors.js';
import { fieldPath, indexPath } from '../schema/paths.js';
import type { Report } from '../text/problems.js';
import type {
  DataType,
  ModelConfig,
  ModelSequenceBatching,
  ModelSequenceBatchingControl,
  ModelSequenceBatchingInitialState,
  ModelSequenceBatchingState,
} from '../schema/types.js';

/** Checks `sequence_batching`. */
export function validateSequenceBatching(config: ModelConfig, report: Report): void {
  const sequence = config.sequence_batching;
  if (sequence === undefined) return;
  checkStrategy(config, sequence, report);
  checkControls(sequence, report);
  sequence.state.forEach((state, index) => {
    checkState(config, state, indexPath('sequence_batching.state', index), report);
  });
  checkNames(config, sequence, report);
}

function checkStrategy(config: ModelConfig, sequence: ModelSequenceBatching, report: Report): void {
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
}

function checkControls(sequence: ModelSequenceBatching, report: Report): void {
  const seen = new Set<string>();
  sequence.control_input.forEach((input, index) => {
    const path = indexPath('sequence_batching.control_input', index);
    if (input.name === '') report(fieldPath(path, 'name'), 'missing: write the name of the input');
    else if (sequence.control_input.findIndex(({ name }) => name === input.name) < index) {
      report(fieldPath(path, 'name'), `${JSON.stringify(input.name)} is listed twice`);
    }
    if (input.control.length !== 1) {
      const text = `expected one control, because the tensor has one value, but found ${input.control.length}`;
      report(fieldPath(path, 'control'), text);
    }
    input.control.forEach((control, position) => {
      const at = indexPath(fieldPath(path, 'control'), position);
      if (seen.has(control.kind)) report(fieldPath(at, 'kind'), `${control.kind} is given twice`);
      seen.add(control.kind);
      checkControl(control, at, report);
    });
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

function checkState(
  config: ModelConfig,
  state: ModelSequenceBatchingState,
  path: string,
  report: Report,
): void {
  const missing = (name: string): void => {
    report(fieldPath(path, name), 'missing');
  };
  if (state.input_name === '') missing('input_name');
  if (state.output_name === '') missing('output_name');
  if (state.data_type === 'TYPE_INVALID') missing('data_type');
  const dims = fieldPath(path, 'dims');
  if (state.dims.length === 0) missing('dims');
  else if (state.dims.length > mostDims) report(dims, tooManyDims(state.dims));
  else if (state.dims.some((dim) => dim < -1)) {
    report(dims, `expected dims of 0 or more, or -1, but found ${shapeText(state.dims)}`);
  } else checkSize(state, path, report);
  checkGrowth(config, state, fieldPath(path, 'use_growable_memory'), report);
  const { initial_state: initials } = state;
  if (initials.length > 1) {
    report(fieldPath(path, 'initial_state'), `expected at most one but found ${initials.length}`);
  }
  const [initial] = initials;
  if (initial) checkInitial(state, initial, indexPath(fieldPath(path, 'initial_state'), 0), report);
}

/** The first state of a sequence must fit in a tensor. */
function checkSize(state: ModelSequenceBatchingState, path: string, report: Report): void {
  const datatype = datatypeOf(state.data_type);
  if (datatype === undefined) return;
  const first = firstDims(state);
  // Before each string is its length, in 4 bytes.
  const width = datatype === 'BYTES' ? 4 : datatypeSize[datatype];
  const bytes = first.reduce((product, dim) => product * dim, width);
  // The product of absurd dims is no number.
  if (bytes <= maxTensorBytes) return;
  const at = state.initial_state.length > 0 ? 'initial_state[0].dims' : 'dims';
  report(
    fieldPath(path, at),
    `expected at most ${maxTensorBytes} bytes (4 GiB) but ${state.data_type} of dims ${shapeText(first)} has more`,
  );
}

function checkGrowth(
  { instance_group: groups }: ModelConfig,
  state: ModelSequenceBatchingState,
  path: string,
  report: Report,
): void {
  if (!state.use_growable_memory) return;
  if (!state.use_same_buffer_for_input_output) {
    report(path, 'needs use_same_buffer_for_input_output: true');
  } else if (groups.some(({ kind }) => kind !== 'KIND_GPU')) {
    report(path, 'needs instances on GPUs (KIND_GPU), because only memory of GPUs can grow in place');
  }
}

function checkInitial(
  state: ModelSequenceBatchingState,
  initial: ModelSequenceBatchingInitialState,
  at: string,
  report: Report,
): void {
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
  const { data_file: file } = initial;
  if (initial.zero_data === undefined && file === undefined) {
    report(at, 'write one of zero_data and data_file');
  }
  if (file === undefined) return;
  const place = fieldPath(at, 'data_file');
  const folder = "the model's folder 'initial_state'";
  if (file === '') report(place, `missing: write the name of a file in ${folder}`);
  else if (isAbsolute(file) || win32.isAbsolute(file)) {
    report(place, `expected a path in ${folder} but found the absolute path ${JSON.stringify(file)}`);
  } else if (leadsOut(file)) report(place, `${JSON.stringify(file)} leads out of ${folder}`);
}

/** An input of the model gets its value from one place, and an output has one type. */
function checkNames(config: ModelConfig, sequence: ModelSequenceBatching, report: Report): void {
  const taken = new Map<string, string>();
  const take = (name: string, path: string): void => {
    if (name !== '' && !taken.has(name)) taken.set(name, path);
  };
  const refuseTaken = (name: string, path: string): void => {
    const other = taken.get(name);
    if (other === undefined) return;
    report(path, `${JSON.stringify(name)} is ${other}, too; an input has only one source`);
  };
  config.input.forEach(({ name }, index) => {
    take(name, indexPath('input', index));
  });
  config.batch_input.forEach(({ target_name: names }, index) => {
    for (const name of names) take(name, indexPath('batch_input', index));
  });
  sequence.control_input.forEach(({ name }, index) => {
    refuseTaken(name, fieldPath(indexPath('sequence_batching.control_input', index), 'name'));
  });
  sequence.control_input.forEach(({ name }, index) => {
    take(name, indexPath('sequence_batching.control_input', index));
  });
  sequence.state.forEach((state, index) => {
    const path = indexPath('sequence_batching.state', index);
    refuseTaken(state.input_name, fieldPath(path, 'input_name'));
    const first = sequence.state.find((one) => one.input_name === state.input_name);
    if (first !== state && first && first.initial_state.length > 0 && state.initial_state.length > 0) {
      const text = `the input ${JSON.stringify(state.input_name)} has an initial state already`;
      report(fieldPath(path, 'initial_state'), text);
    }
    const declared = config.output.findIndex(({ name }) => name === state.output_name);
    const type = config.output[declared]?.data_type;
    if (type === undefined || type === state.data_type || type === 'TYPE_INVALID') return;
    report(
      fieldPath(path, 'data_type'),
      `expected ${type}, the type of ${indexPath('output', declared)}, but found ${state.data_type}`,
    );
  });
}

/** Notes about states that are ignored, each beginning with its path. */
export function ignoredStates(config: Pick<ModelConfig, 'sequence_batching'>): string[] {
  const kept = new Set(keptStates(config).map(({ index }) => index));
  return (config.sequence_batching?.state ?? []).flatMap((_, index) =>
    kept.has(index)
      ? []
      : [
          `${indexPath('sequence_batching.state', index)}: accepted, without effect here: an earlier state has its input or ` +
            'output, and counts, as in Triton',
        ],
  );
}
