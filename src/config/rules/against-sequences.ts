/** Compares the tensors of `sequence_batching` with those of the model. */

import { fieldPath, indexPath } from '../schema/paths.js';
import type { ModelConfig, ModelSequenceBatchingControl } from '../schema/types.js';
import type { Report } from '../text/problems.js';
import { shapeText, type TensorDescription } from './description.js';
import { batchFault, compareType, find, type Side, type Tensors } from './model-tensors.js';
import { controlType, firstDims, keptStates, type PlacedState } from './sequence-tensors.js';
import { mayBatch } from './shape-tensors.js';

/**
 * Compares names, types and shapes of control tensors and states. Triton does not compare those of states, and then fails
 * each request to such a model.
 *
 * @returns Why tensors have no place for a batch, if the configuration wants batches.
 */
export function compareSequences(
  config: ModelConfig,
  inputs: Tensors,
  outputs: Tensors,
  report: Report,
): string[] {
  const unbatched: string[] = [];
  /** The shape without the batch; undefined: unknown, or there is no place for a batch. */
  const shapeOf = (side: Side, tensor: TensorDescription): readonly number[] | undefined => {
    const { shape } = tensor;
    if (shape === undefined) return undefined;
    if (config.max_batch_size === 0 || mayBatch(shape)) return withoutRows(config, shape);
    unbatched.push(batchFault(config, side, tensor, shape));
    return undefined;
  };
  const input: Side = { kind: 'input', tensors: inputs };
  const output: Side = { kind: 'output', tensors: outputs };
  config.sequence_batching?.control_input.forEach(({ name, control }, index) => {
    const path = indexPath('sequence_batching.control_input', index);
    const tensor = find(input, fieldPath(path, 'name'), name, report);
    if (tensor === undefined) return;
    control.forEach((one, position) => {
      const at = fieldPath(indexPath(fieldPath(path, 'control'), position), typeField(one));
      compareType(input, at, controlType(one), tensor, report);
    });
    // As in Triton, a variable dim does not do, and neither does a tensor without dims.
    const shape = shapeOf(input, tensor);
    if (shape === undefined || (shape.length === 1 && shape[0] === 1 && tensor.shape?.length !== 0)) return;
    const expected = config.max_batch_size > 0 ? '[-1,1]' : '[1]';
    report(
      fieldPath(path, 'name'),
      `the model's input ${JSON.stringify(name)} has shape ${shapeText(tensor.shape ?? [])}, but a control tensor has ` +
        `one value for each request. Expected shape ${expected}`,
    );
  });
  for (const placed of keptStates(config)) {
    const path = indexPath('sequence_batching.state', placed.index);
    const { input_name: from, output_name: to, data_type: type } = placed.state;
    const taken = find(input, fieldPath(path, 'input_name'), from, report);
    const given = find(output, fieldPath(path, 'output_name'), to, report);
    if (taken) compareType(input, fieldPath(path, 'data_type'), type, taken, report);
    const isDeclared = config.output.some(({ name }) => name === to);
    if (given && !isDeclared) compareType(output, fieldPath(path, 'data_type'), type, given, report);
    // A declared output has been compared with its own entry, including its place for a batch.
    const declaredDims = given?.shape && withoutRows(config, given.shape);
    compareShapes(
      config,
      placed,
      taken && { name: from, dims: shapeOf(input, taken) },
      given && { name: to, dims: isDeclared ? declaredDims : shapeOf(output, given) },
      report,
    );
  }
  return unbatched;
}

/** The field of a control that tells the tensor's type. */
function typeField(control: ModelSequenceBatchingControl): string {
  if (control.kind === 'CONTROL_SEQUENCE_CORRID') return 'data_type';
  const names = ['fp32_false_true', 'bool_false_true'] as const;
  return names.find((name) => control[name].length > 0) ?? 'int32_false_true';
}

/** A shape without the batch dimension. A tensor without dims has the shape [1] outside of the model. */
function withoutRows({ max_batch_size: most }: ModelConfig, shape: readonly number[]): readonly number[] {
  if (most > 0) return shape.slice(1);
  return shape.length === 0 ? [1] : shape;
}

/** A tensor of the model with its shape without the batch; undefined: unknown. */
interface StateTensor {
  readonly name: string;
  readonly dims: readonly number[] | undefined;
}

/** The first state must fit the input, and so must every value of the output. */
function compareShapes(
  config: ModelConfig,
  { index, state }: PlacedState,
  input: StateTensor | undefined,
  output: StateTensor | undefined,
  report: Report,
): void {
  const path = indexPath('sequence_batching.state', index);
  const batch = config.max_batch_size > 0 ? ' without the batch dimension' : '';
  const first = firstDims(state);
  const shapes = ({ name }: StateTensor, side: string, dims: readonly number[]): string =>
    `the model's ${side} ${JSON.stringify(name)} has shape ${shapeText(dims)}${batch}, but`;
  if (input?.dims && !fits(first, input.dims)) {
    const at = state.initial_state.length > 0 ? 'initial_state[0].dims' : 'dims';
    const text = `${shapes(input, 'input', input.dims)} the state of a new sequence has ${shapeText(first)}`;
    report(fieldPath(path, at), text);
  }
  if (!output?.dims) return;
  const what = shapes(output, 'output', output.dims);
  if (state.use_same_buffer_for_input_output && !fits(output.dims, first, true)) {
    const field = fieldPath(path, 'use_same_buffer_for_input_output');
    report(field, `${what} the state keeps the shape ${shapeText(first)}`);
  } else if (input?.dims && !fits(output.dims, input.dims, true)) {
    const text = `${what} the next input ${JSON.stringify(input.name)} has ${shapeText(input.dims)}`;
    report(fieldPath(path, 'output_name'), text);
  }
}

/** Whether a shape fits a model's. With `varies`, it may have variable dims itself. */
function fits(dims: readonly number[], model: readonly number[], varies = false): boolean {
  return (
    dims.length === model.length &&
    dims.every((dim, i) => dim === model[i] || model[i] === -1 || (varies && dim === -1))
  );
}
