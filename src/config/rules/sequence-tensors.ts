/**
 * The tensors of `sequence_batching`: states and control tensors. They are between the server and the model, so callers
 * neither send nor receive them.
 */

import type {
  DataType,
  ModelConfig,
  ModelSequenceBatchingControl,
  ModelSequenceBatchingState,
} from '../schema/types.js';

/** A state, with its position in `sequence_batching.state`. */
export interface PlacedState {
  readonly index: number;
  readonly state: ModelSequenceBatchingState;
}

/** A tensor of the model that the configuration does not list among its inputs or outputs. */
export interface HiddenTensor {
  readonly name: string;
  readonly data_type: DataType;
  /** Without the batch dimension; -1 is variable. */
  readonly dims: readonly number[];
  /** The dims that it has in the first request of a sequence. */
  readonly firstDims: readonly number[];
  /** The dims that it may have later: a state follows the model's output, unless it stays in one buffer. */
  readonly laterDims: readonly number[];
}

/**
 * The hidden tensors of a configuration. The engine has them behind the declared inputs and outputs, in this order:
 * states, then control tensors.
 */
export interface SequenceTensors {
  readonly inputs: readonly HiddenTensor[];
  /** Outputs of states that are not declared as outputs, too. */
  readonly outputs: readonly HiddenTensor[];
  /** Each state with the positions of its tensors among the engine's inputs and outputs. */
  readonly states: readonly {
    readonly state: ModelSequenceBatchingState;
    readonly input: number;
    readonly output: number;
    readonly firstDims: readonly number[];
  }[];
  /** Each control with the position of its tensor among the engine's inputs. */
  readonly controls: readonly { readonly control: ModelSequenceBatchingControl; readonly input: number }[];
}

/** Part of a configuration that names the tensors of sequences. */
type Sequences = Pick<ModelConfig, 'sequence_batching'>;

/**
 * The states that the server keeps. As in Triton, an entry is ignored if it has the input or the output of an earlier one.
 */
export function keptStates({ sequence_batching: sequence }: Sequences): readonly PlacedState[] {
  const inputs = new Set<string>();
  const outputs = new Set<string>();
  const kept: PlacedState[] = [];
  (sequence?.state ?? []).forEach((state, index) => {
    if (inputs.has(state.input_name) || outputs.has(state.output_name)) return;
    inputs.add(state.input_name);
    outputs.add(state.output_name);
    kept.push({ index, state });
  });
  return kept;
}

/** The names of the model's inputs that the server fills in. */
export function hiddenInputNames(config: Sequences): string[] {
  return [
    ...keptStates(config).map(({ state }) => state.input_name),
    ...(config.sequence_batching?.control_input ?? []).map(({ name }) => name),
  ];
}

/** The element type of a control tensor. */
export function controlType(control: ModelSequenceBatchingControl): DataType {
  if (control.kind === 'CONTROL_SEQUENCE_CORRID') return control.data_type;
  if (control.fp32_false_true.length > 0) return 'TYPE_FP32';
  return control.bool_false_true.length > 0 ? 'TYPE_BOOL' : 'TYPE_INT32';
}

/** The dims of a new sequence's state: those of its initial state, or its own with 1 for each variable dim. */
export function firstDims({ dims, initial_state: [initial] }: ModelSequenceBatchingState): readonly number[] {
  return initial?.dims ?? dims.map((dim) => (dim === -1 ? 1 : dim));
}

/** Lists the hidden tensors of a checked configuration. */
export function sequenceTensorsOf(config: ModelConfig): SequenceTensors {
  const inputs: HiddenTensor[] = [];
  const outputs: HiddenTensor[] = [];
  const hide = (tensors: HiddenTensor[], declared: number, tensor: HiddenTensor): number =>
    declared + tensors.push(tensor) - 1;
  const states = keptStates(config).map(({ state }) => {
    const { input_name: name, output_name: output, data_type, dims } = state;
    const first = firstDims(state);
    const laterDims = state.use_same_buffer_for_input_output ? first : dims.map(() => -1);
    const tensor = { name, data_type, dims, firstDims: first, laterDims };
    const declared = config.output.findIndex((one) => one.name === output);
    return {
      state,
      firstDims: first,
      input: hide(inputs, config.input.length, tensor),
      output: declared >= 0 ? declared : hide(outputs, config.output.length, { ...tensor, name: output }),
    };
  });
  const controls = (config.sequence_batching?.control_input ?? []).flatMap(({ name, control: list }) =>
    list.map((control) => {
      const dims = [1];
      const tensor = { name, data_type: controlType(control), dims, firstDims: dims, laterDims: dims };
      return { control, input: hide(inputs, config.input.length, tensor) };
    }),
  );
  return { inputs, outputs, states, controls };
}
