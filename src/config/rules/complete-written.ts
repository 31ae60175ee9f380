/** Completes what written inputs and outputs lack, as Triton's tensorflow backend does. */

import type { ModelDescription, TensorDescription } from './description.js';
import { hiddenInputNames } from './sequence-tensors.js';
import type { DataType, ModelConfig, ModelInput, ModelOutput } from '../schema/types.js';

type Section = 'input' | 'output';

/** A tensor as the model's file describes it. */
export interface CompletedTensor {
  readonly name: string;
  readonly data_type: DataType;
  readonly dims: readonly number[];
  readonly reshape: { readonly shape: readonly number[] } | undefined;
  readonly is_shape_tensor: boolean;
}

/** Makes the entry of a model's tensor at this index of its section. */
type FromModel = (section: Section, tensor: TensorDescription, index: number) => CompletedTensor;

/** Whether inputs of the model are missing, or types or dims of written tensors that the model has. */
export function lacksParts(config: ModelConfig, description: ModelDescription): boolean {
  const isIncomplete = (section: Section): boolean =>
    config[section].some((one) => lacks(one) && tensorNamed(description, section, one.name) !== undefined);
  return isIncomplete('input') || isIncomplete('output') || missingInputs(config, description).length > 0;
}

/**
 * The written inputs and outputs with the types and dims that they lack, and all inputs of the model.
 *
 * @param fromModel - Makes the entry of a tensor.
 */
export function withModelParts(
  config: ModelConfig,
  description: ModelDescription,
  fromModel: FromModel,
): Pick<ModelConfig, 'input' | 'output'> {
  const filled = <T extends ModelInput | ModelOutput>(section: Section, one: T, index: number): T => {
    const tensor = lacks(one) ? tensorNamed(description, section, one.name) : undefined;
    if (tensor === undefined) return one;
    const { data_type: datatype, dims, reshape } = fromModel(section, tensor, index);
    return {
      ...one,
      ...(one.data_type === 'TYPE_INVALID' && { data_type: datatype }),
      ...(one.dims.length === 0 && { dims, ...(reshape && { reshape }) }),
    };
  };
  const { input, output } = config;
  const added = missingInputs(config, description).map((tensor, index) =>
    asInput(fromModel('input', tensor, input.length + index)),
  );
  return {
    input: [...input.map((one, index) => filled('input', one, index)), ...added],
    output: output.map((one, index) => filled('output', one, index)),
  };
}

function lacks({ data_type: datatype, dims }: ModelInput | ModelOutput): boolean {
  return datatype === 'TYPE_INVALID' || dims.length === 0;
}

function tensorNamed(
  { inputs, outputs }: ModelDescription,
  section: Section,
  name: string,
): TensorDescription | undefined {
  return (section === 'input' ? inputs : outputs).find((tensor) => tensor.name === name);
}

/** The inputs that the model needs and the configuration has nowhere. If none is written, the section is missing. */
function missingInputs(config: ModelConfig, { inputs }: ModelDescription): readonly TensorDescription[] {
  const known = new Set([
    ...config.input.map(({ name }) => name),
    ...config.batch_input.flatMap((one) => one.target_name),
    ...hiddenInputNames(config),
  ]);
  if (known.size === 0) return [];
  return inputs.filter(({ name, optional }) => !optional && !known.has(name));
}

/** The tensor as an input of a configuration. */
export function asInput({ name, data_type, dims, reshape, is_shape_tensor }: CompletedTensor): ModelInput {
  return {
    name,
    data_type,
    format: 'FORMAT_NONE',
    dims,
    ...(reshape && { reshape }),
    is_shape_tensor,
    allow_ragged_batch: false,
    optional: false,
    is_non_linear_format_io: false,
  };
}

/** The tensor as an output of a configuration. */
export function asOutput({ name, data_type, dims, reshape, is_shape_tensor }: CompletedTensor): ModelOutput {
  return {
    name,
    data_type,
    dims,
    ...(reshape && { reshape }),
    label_filename: '',
    is_shape_tensor,
    is_non_linear_format_io: false,
  };
}
