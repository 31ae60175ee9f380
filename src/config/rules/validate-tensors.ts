/** Triton's rules for inputs and outputs. */

import { shapeText } from './description.js';
import { hasRowsInValues } from './shape-tensors.js';
import { fieldPath, indexPath } from '../schema/paths.js';
import type { BackendRules } from '../support/backend-rules.js';
import type { Report } from '../text/problems.js';
import type { ModelConfig, ModelInput, ModelOutput } from '../schema/types.js';

/** No runtime supports as many dims, and their product can be computed quickly. */
export const mostDims = 1024;

/**
 * Checks every written input and output: name, type, dims, reshape, formats. `reportMissingSections()` checks
 * that the sections exist.
 *
 * @param rules - The rules of the configuration's backend; undefined if it has none.
 */
export function validateTensors(config: ModelConfig, rules: BackendRules | undefined, report: Report): void {
  for (const section of ['input', 'output'] as const) {
    const seen = new Map<string, number>();
    config[section].forEach((tensor, index) => {
      const path = indexPath(section, index);
      validateTensor(config, tensor, path, report);
      const first = seen.get(tensor.name);
      if (first !== undefined && tensor.name !== '') {
        report(
          fieldPath(path, 'name'),
          `${indexPath(section, first)} is named ${JSON.stringify(tensor.name)} too`,
        );
      }
      if (first === undefined) seen.set(tensor.name, index);
    });
  }
  config.input.forEach((input, index) => {
    validateInput(config, rules, input, indexPath('input', index), report);
  });
}

function validateTensor(
  config: ModelConfig,
  tensor: ModelInput | ModelOutput,
  path: string,
  report: Report,
): void {
  if (tensor.name === '') report(fieldPath(path, 'name'), 'missing: write the name of the tensor');
  const name = (): string => (tensor.name === '' ? 'this tensor' : JSON.stringify(tensor.name));
  if (tensor.data_type === 'TYPE_INVALID') {
    report(
      fieldPath(path, 'data_type'),
      `missing: write the element type of ${name()}, such as data_type: TYPE_FP32`,
    );
  }
  const dims = (): string => fieldPath(path, 'dims');
  if (tensor.dims.length === 0) {
    const batch = config.max_batch_size > 0 ? ' without the batch dimension' : '';
    report(
      dims(),
      `missing: write the shape of ${name()}${batch}, such as dims: [ 3, 224, -1 ] (-1: variable)`,
    );
  }
  if (tensor.dims.some(isBadDim)) report(dims(), badDims(tensor.dims));
  if (tensor.dims.length > mostDims) report(dims(), tooManyDims(tensor.dims));
  else validateReshape(tensor, path, report);
  for (const flag of ['is_shape_tensor', 'is_non_linear_format_io'] as const) {
    if (tensor[flag] && config.platform !== 'tensorrt_plan') {
      report(fieldPath(path, flag), `only models of platform tensorrt_plan take this flag`);
    }
  }
  if (hasRowsInValues(config, tensor)) validateShapeTensor(tensor, path, report);
  if (tensor.is_non_linear_format_io && tensor.dims.length !== 3) {
    report(dims(), `is_non_linear_format_io needs 3 dims but found ${shapeText(tensor.dims)}`);
  }
}

/** Checks a shape tensor of a model that batches, whose first value is the batch. */
function validateShapeTensor(tensor: ModelInput | ModelOutput, path: string, report: Report): void {
  const [dim, ...more] = tensor.dims;
  if (more.length > 0 || dim === -1) {
    report(
      fieldPath(path, 'dims'),
      `expected one dim, the number of the shape tensor's values without the batch, but found ${shapeText(tensor.dims)}`,
    );
  }
  const flags = [
    ['reshape', tensor.reshape !== undefined],
    ['optional', 'optional' in tensor && tensor.optional],
    ['allow_ragged_batch', 'allow_ragged_batch' in tensor && tensor.allow_ragged_batch],
  ] as const;
  for (const [flag, written] of flags) {
    if (written)
      report(fieldPath(path, flag), 'cannot be combined with is_shape_tensor in a model that batches');
  }
}

function validateInput(
  config: ModelConfig,
  rules: BackendRules | undefined,
  input: ModelInput,
  path: string,
  report: Report,
): void {
  if (input.format !== 'FORMAT_NONE' && input.dims.length !== 3) {
    report(fieldPath(path, 'dims'), `${input.format} needs 3 dims but found ${shapeText(input.dims)}`);
  }
  if (!input.optional || rules?.optionalNeedsNoBatch !== true) return;
  const optional = fieldPath(path, 'optional');
  if (config.max_batch_size > 0) {
    report(
      optional,
      `${config.backend} allows it only without batching but max_batch_size is ${config.max_batch_size}`,
    );
  }
  if (input.allow_ragged_batch)
    report(optional, `${config.backend} does not allow it together with allow_ragged_batch`);
}

function isBadDim(dim: number): boolean {
  return dim < 1 && dim !== -1;
}

function badDims(dims: readonly number[]): string {
  return `expected dims of 1 or more, or -1 (variable), but found ${shapeText(dims)}`;
}

/** The message about a tensor with more than {@link mostDims} dims. */
export function tooManyDims(dims: readonly number[]): string {
  return `expected at most ${mostDims} dims but found ${dims.length}`;
}

/**
 * Checks a reshape. An empty one makes a tensor without dimensions: one number for each item, so dims must have
 * one element.
 */
function validateReshape(tensor: ModelInput | ModelOutput, path: string, report: Report): void {
  const shape = tensor.reshape?.shape;
  if (shape === undefined || tensor.dims.length === 0) return;
  const at = fieldPath(path, 'reshape');
  if (shape.some(isBadDim) || shape.length > mostDims) {
    report(fieldPath(at, 'shape'), shape.length > mostDims ? tooManyDims(shape) : badDims(shape));
    return;
  }
  const both = `dims ${shapeText(tensor.dims)} and reshape ${shapeText(shape)}`;
  const from = sizesBetweenVariable(tensor.dims);
  const to = sizesBetweenVariable(shape);
  if (from.length !== to.length) report(at, `${both} differ in the number of variable dims`);
  else if (from.length === 1 && from[0] !== to[0])
    report(at, `${both} differ in size: ${from[0]} and ${to[0]} elements`);
  else if (from.some((size, index) => size !== to[index])) {
    report(at, `${both} differ in the number of elements between variable dims`);
  }
}

/** The products of the fixed dims before, between and after the variable ones. */
function sizesBetweenVariable(dims: readonly number[]): bigint[] {
  const sizes = [1n];
  for (const dim of dims) {
    if (dim === -1) sizes.push(1n);
    else sizes.push((sizes.pop() ?? 1n) * BigInt(dim));
  }
  return sizes;
}
