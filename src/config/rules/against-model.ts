/** Compares a configuration with the inputs and outputs of its model. */

import { compareSequences } from './against-sequences.js';
import { dataTypeOf, shapeText, type ModelDescription, type TensorDescription } from './description.js';
import { batchFault, byName, compareType, find, type Side, type Tensors } from './model-tensors.js';
import { batchInputRank } from './ragged.js';
import { hiddenInputNames } from './sequence-tensors.js';
import { mayBatch, withoutBatch } from './shape-tensors.js';
import { fieldPath, indexPath } from '../schema/paths.js';
import type { Report } from '../text/problems.js';
import type { ModelConfig, ModelInput, ModelOutput } from '../schema/types.js';

/**
 * Compares names, types, shapes and the number of inputs, and checks whether the model can be batched.
 *
 * @param config - Complete, and valid in itself.
 * @param description - The tensors that the backend found in the model's file.
 * @param report - Called for each difference, with both sides.
 */
export function checkAgainstModel(config: ModelConfig, description: ModelDescription, report: Report): void {
  const inputs = byName(description.inputs);
  const outputs = byName(description.outputs);
  const unbatched = new Set<string>();
  const compare = (side: Side, path: string, written: ModelInput | ModelOutput): void => {
    const tensor = find(side, fieldPath(path, 'name'), written.name, report);
    if (tensor === undefined) return;
    compareType(side, fieldPath(path, 'data_type'), written.data_type, tensor, report);
    if (written.is_shape_tensor && tensor.isShapeTensor !== true) {
      report(
        fieldPath(path, 'is_shape_tensor'),
        `the model's ${side.kind} ${JSON.stringify(tensor.name)} is not a shape tensor`,
      );
    }
    if (tensor.isShapeTensor === true && !written.is_shape_tensor && config.max_batch_size > 0) {
      report(
        fieldPath(path, 'is_shape_tensor'),
        `the model's ${side.kind} ${JSON.stringify(tensor.name)} is a shape tensor, whose first value is the ` +
          'batch where there is one: write is_shape_tensor: true',
      );
      return;
    }
    const { shape } = tensor;
    // If the model's file does not give the shape, the configuration's is used unchanged.
    if (shape === undefined) return;
    if (config.max_batch_size > 0 && !mayBatch(shape, tensor.isShapeTensor))
      unbatched.add(batchFault(config, side, tensor, shape));
    else compareShape(config, side, path, written, { ...tensor, shape }, report);
  };
  config.input.forEach((input, index) => {
    const path = indexPath('input', index);
    compare({ kind: 'input', tensors: inputs }, path, input);
    const tensor = inputs.get(input.name);
    if (input.optional && tensor && !tensor.optional) {
      report(fieldPath(path, 'optional'), `the model needs its input ${JSON.stringify(input.name)}`);
    }
  });
  config.output.forEach((output, index) => {
    compare({ kind: 'output', tensors: outputs }, indexPath('output', index), output);
  });
  for (const fault of compareSequences(config, inputs, outputs, report)) unbatched.add(fault);
  for (const fault of unbatched) report('max_batch_size', fault);
  const most = description.mostRows;
  if (most !== undefined && config.max_batch_size > most && unbatched.size === 0) {
    const limit =
      most === 0 ? 'the model cannot be batched' : `a batch of the model has at most ${most} rows`;
    report('max_batch_size', `is ${config.max_batch_size}, but ${limit}`);
  }
  compareBatchInputs(config, inputs, report);
  reportMissingInputs(config, inputs, report);
}

function compareShape(
  config: ModelConfig,
  side: Side,
  path: string,
  written: ModelInput | ModelOutput,
  tensor: TensorDescription & { readonly shape: readonly number[] },
  report: Report,
): void {
  if (side.kind === 'output' && config.batch_output.some((one) => one.target_name.includes(written.name)))
    return;
  const batching = config.max_batch_size > 0;
  if ('allow_ragged_batch' in written && written.allow_ragged_batch) {
    if (tensor.shape.length === 1) return;
    const text = `the model's input must have one dimension to be ragged, but its shape is ${shapeText(tensor.shape)}`;
    report(fieldPath(path, 'allow_ragged_batch'), text);
    return;
  }
  const dims = written.reshape?.shape ?? written.dims;
  const model = batching ? withoutBatch(tensor.shape, tensor.isShapeTensor) : tensor.shape;
  // A tensor without dimensions has shape [1] for clients, because they have no empty shapes.
  const isScalar = !batching && model.length === 0 && written.reshape === undefined;
  const expected = isScalar ? [1] : model;
  const fits =
    dims.length === expected.length &&
    dims.every((dim, index) => dim === expected[index] || (side.kind === 'input' && expected[index] === -1));
  if (fits) return;
  const where = written.reshape === undefined ? 'dims' : 'reshape';
  const right =
    expected.length > 0
      ? `Expected ${where === 'dims' ? 'dims' : 'shape'}: [ ${expected.join(', ')} ]`
      : 'Expected dims: [ 1 ] and reshape { shape: [ ] }';
  const batch = batching
    ? `, whose first ${tensor.isShapeTensor === true ? 'value' : 'dimension'} is the batch and is left out because max_batch_size is ${config.max_batch_size}`
    : tensor.shape[0] === -1 && dims.length === expected.length - 1
      ? ', all of it: max_batch_size is 0'
      : '';
  report(
    fieldPath(path, where),
    `the model's ${side.kind} ${JSON.stringify(tensor.name)} has shape ${shapeText(tensor.shape)}${batch}, ` +
      `but the configuration says ${shapeText(dims)}. ${right}`,
  );
}

/**
 * Checks the tensors of `batch_input`. Triton checks neither their types nor their dims, and then fails each request
 * to such a model.
 */
function compareBatchInputs(config: ModelConfig, inputs: Tensors, report: Report): void {
  const input: Side = { kind: 'input', tensors: inputs };
  config.batch_input.forEach((one, index) => {
    one.target_name.forEach((name, position) => {
      const at = indexPath('batch_input', index);
      const path = indexPath(fieldPath(at, 'target_name'), position);
      const tensor = find(input, path, name, report);
      if (tensor === undefined) return;
      compareType(input, fieldPath(at, 'data_type'), one.data_type, tensor, report);
      const rank = batchInputRank(one.kind);
      if (tensor.shape === undefined || tensor.shape.length === rank) return;
      report(
        path,
        `${one.kind} makes a tensor of ${rank === 1 ? 'one dimension' : `${rank} dimensions`}, but the model's input ` +
          `${JSON.stringify(name)} has shape ${shapeText(tensor.shape)}`,
      );
    });
  });
}

function reportMissingInputs(config: ModelConfig, inputs: Tensors, report: Report): void {
  const given = new Set([
    ...config.input.map(({ name }) => name),
    ...hiddenInputNames(config),
    ...config.batch_input.flatMap((one) => one.target_name),
  ]);
  const missing = [...inputs.values()].filter(({ name, optional }) => !optional && !given.has(name));
  if (missing.length === 0) return;
  const entries = missing.map(({ name, datatype, typeName, shape }) => {
    const type = datatype === undefined ? typeName : dataTypeOf(datatype);
    return `${JSON.stringify(name)} (${type}, ${shape ? `shape ${shapeText(shape)}` : 'of unknown rank'})`;
  });
  report(
    'input',
    `the configuration lacks the model's ${entries.length === 1 ? 'input' : 'inputs'} ${entries.join(', ')}`,
  );
}
