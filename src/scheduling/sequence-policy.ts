/** Turns `sequence_batching` of a checked configuration into the engine's policy. */

import type {
  NativeSequenceControl,
  NativeSequencePolicy,
  NativeTensorSpec,
} from '../addon/native/version-config.js';
import {
  controlType,
  fullDims,
  sequenceTensorsOf,
  typeNumber,
  type HiddenTensor,
  type ModelConfig,
  type ModelDescription,
  type ModelSequenceBatchingControl,
  type ModelSequenceBatchingControlKind,
  type TensorDescription,
} from '../config/index.js';
import { batchingOf } from './policy.js';

const kinds: Readonly<Record<ModelSequenceBatchingControlKind, NativeSequenceControl['kind']>> = {
  CONTROL_SEQUENCE_START: 'start',
  CONTROL_SEQUENCE_END: 'end',
  CONTROL_SEQUENCE_READY: 'ready',
  CONTROL_SEQUENCE_CORRID: 'id',
};

/**
 * The sequence batcher's policy; undefined if the model has no sequences.
 *
 * @param acrossShapes - As in `schedulingOf`.
 * @param reloaded - Whether the version replaces another one.
 * @param initialStates - Bytes of initial states by the name of the state's input, where they are not zeros.
 */
export function sequencePolicyOf(
  config: ModelConfig,
  acrossShapes: boolean,
  reloaded: boolean,
  initialStates: ReadonlyMap<string, Uint8Array> = new Map(),
): NativeSequencePolicy | undefined {
  const sequence = config.sequence_batching;
  if (sequence === undefined) return undefined;
  const { direct, oldest } = sequence;
  const { states, controls } = sequenceTensorsOf(config);
  const rows = Math.max(1, config.max_batch_size);
  return {
    strategy: oldest === undefined ? 'direct' : 'oldest',
    slots: oldest?.max_candidate_sequences || rows,
    maxBatchSize: config.max_batch_size,
    maxIdleUs: sequence.max_sequence_idle_microseconds,
    minimumSlotUtilization: direct?.minimum_slot_utilization ?? 0,
    maxQueueDelayUs: direct?.max_queue_delay_microseconds ?? 0,
    dynamic: oldest && batchingOf(config, oldest, acrossShapes),
    preserveOrdering: oldest?.preserve_ordering ?? false,
    iterative: sequence.iterative_sequence,
    reloaded,
    controls: controls.map(({ control, input }) => ({
      kind: kinds[control.kind],
      input,
      datatype: typeNumber(controlType(control)),
      values: valuesOf(control),
    })),
    states: states.map(({ state, input, output, firstDims }) => ({
      input,
      output,
      datatype: typeNumber(state.data_type),
      firstShape: config.max_batch_size > 0 ? [1, ...firstDims] : firstDims,
      firstBytes: initialStates.get(state.input_name),
      sameBuffer: state.use_same_buffer_for_input_output,
    })),
  };
}

/** The values of a control for false and true. */
function valuesOf(control: ModelSequenceBatchingControl): readonly number[] {
  if (control.kind === 'CONTROL_SEQUENCE_CORRID') return [];
  if (control.fp32_false_true.length > 0) return control.fp32_false_true;
  if (control.bool_false_true.length > 0) return control.bool_false_true.map(Number);
  return control.int32_false_true;
}

/**
 * The engine's tensors that the configuration does not list among inputs and outputs. They follow the listed ones.
 *
 * @param description - The model's tensors, as far as they are known. The dims of a state tell its first shape only; the
 *   model tells which later shapes it may have.
 */
export function hiddenTensors(
  config: ModelConfig,
  description: ModelDescription | undefined,
): { readonly inputs: readonly NativeTensorSpec[]; readonly outputs: readonly NativeTensorSpec[] } {
  const { inputs, outputs } = sequenceTensorsOf(config);
  const specs = (
    hidden: readonly HiddenTensor[],
    found: readonly TensorDescription[] | undefined,
  ): NativeTensorSpec[] =>
    hidden.map(({ name, data_type: type, laterDims: dims }) => {
      const shape = found?.find((one) => one.name === name)?.shape;
      return {
        name,
        datatype: typeNumber(type),
        // A tensor without dims has the shape [1] outside of the model.
        dims: shape && shape.length > 0 ? shape : fullDims(config, { dims, is_shape_tensor: false }),
        optional: false,
        rowsInValues: false,
        internal: true,
      };
    });
  return {
    inputs: specs(inputs, description?.inputs),
    outputs: specs(outputs, description?.outputs),
  };
}
