/**
 * Makes a small ONNX model that fits a configuration: it has the right inputs and outputs, and computes
 * nothing useful.
 */

import { datatypeOf } from '../../src/config/rules/description.js';
import type { DataType, ModelConfig } from '../../src/config/schema/types.js';
import { datatypeSize, type Datatype } from '../../src/tensor/datatype.js';
import { graph, type Dim, type Graph } from '../support/onnx/graph.js';
import { elementType, type TensorValues } from '../support/onnx/tensor.js';

/** The size that every variable dimension of a request to such a model must have. */
export const variableSize = 3;

interface Value {
  readonly name: string;
  readonly datatype: Datatype;
  /** The model's dims: after reshape, without the batch. */
  readonly dims: readonly number[];
}

/**
 * A model with the inputs and outputs of a complete configuration, including those of its states and
 * controls. An output repeats the first input of its type and shape. If there is none, it has the
 * right shape and one value in it.
 */
export function modelFor(config: ModelConfig): Uint8Array {
  const inputs = inputsOf(config);
  const batch: readonly Dim[] = config.max_batch_size > 0 ? ['N'] : [];
  const symbolic = (dims: readonly number[]): Dim[] => [
    ...batch,
    ...dims.map((dim) => (dim === -1 ? 'D' : dim)),
  ];
  const model = graph('corpus');
  for (const { name, datatype, dims } of inputs) model.input(name, datatype, symbolic(dims));
  for (const { name, optional } of config.input) {
    const value = inputs.find((input) => input.name === name);
    if (optional && value) model.initializer(name, value.datatype, value.dims, filled(value));
  }
  for (const [index, output] of outputsOf(config).entries()) {
    const same = inputs.find(
      (input) =>
        input.datatype === output.datatype &&
        input.dims.length === output.dims.length &&
        input.dims.every((dim, i) => dim === output.dims[i]),
    );
    if (same) model.node('Identity', [same.name], [output.name]);
    else addFilled(model, output, batch.length > 0, inputs[0]?.name ?? '', index);
    model.output(output.name, output.datatype, symbolic(output.dims));
  }
  return model.encode();
}

/**
 * Makes an output of one value. The runtime knows its variable dims and its batch only once it has the input.
 */
function addFilled(model: Graph, output: Value, batching: boolean, input: string, index: number): void {
  const own = (name: string): string => `${name}_${index}`;
  const fixed = output.dims.map((dim) => (dim === -1 ? variableSize : dim));
  model.initializer(own('value'), output.datatype, [], filled({ ...output, dims: [] }));
  model.initializer(own('dims'), 'INT64', [fixed.length], fixed);
  if (batching) {
    model
      .node('Shape', [input], [own('batch')], { start: 0, end: 1 })
      .node('Concat', [own('batch'), own('dims')], [own('shape')], { axis: 0 });
  } else {
    model
      .initializer(own('zero'), 'INT64', [], [0])
      .node('Cast', [input], [own('integers')], { to: elementType.INT64 })
      .node('ReduceSum', [own('integers')], [own('sum')], { keepdims: 0 })
      .node('Mul', [own('sum'), own('zero')], [own('nothing')])
      .node('Add', [own('nothing'), own('dims')], [own('shape')]);
  }
  model.node('Expand', [own('value'), own('shape')], [output.name]);
}

/** Values for a constant: zeros, or words. */
function filled({ datatype, dims }: Value): TensorValues {
  const count = dims.reduce((product, dim) => product * dim, 1);
  if (datatype === 'BYTES') return Array.from({ length: count }, () => 'word');
  return new Uint8Array(count * datatypeSize[datatype]);
}

function inputsOf(config: ModelConfig): Value[] {
  const sequence = config.sequence_batching;
  return [
    ...config.input.map(({ name, data_type, dims, reshape }) =>
      valueOf(name, data_type, reshape?.shape ?? dims),
    ),
    ...(sequence?.control_input ?? []).map(({ name, control }) => valueOf(name, controlType(control), [1])),
    ...(sequence?.state ?? []).map((state) => valueOf(state.input_name, state.data_type, state.dims)),
  ];
}

function outputsOf(config: ModelConfig): Value[] {
  return [
    ...config.output.map(({ name, data_type, dims, reshape }) =>
      valueOf(name, data_type, reshape?.shape ?? dims),
    ),
    ...(config.sequence_batching?.state ?? []).map((state) =>
      valueOf(state.output_name, state.data_type, state.dims),
    ),
  ];
}

type Controls = NonNullable<ModelConfig['sequence_batching']>['control_input'][number]['control'];

function controlType(controls: Controls): DataType {
  const [control] = controls;
  if (control?.kind === 'CONTROL_SEQUENCE_CORRID') return control.data_type;
  if (control && control.fp32_false_true.length > 0) return 'TYPE_FP32';
  return control && control.bool_false_true.length > 0 ? 'TYPE_BOOL' : 'TYPE_INT32';
}

function valueOf(name: string, type: DataType, dims: readonly number[]): Value {
  const datatype = datatypeOf(type);
  if (datatype === undefined) throw new Error(`the corpus has a tensor '${name}' without a type`);
  return { name, datatype, dims };
}
