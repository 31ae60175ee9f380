/** A model's inputs and outputs as the engine has them, with the inputs that the engine makes itself. */

import type {
  NativeBatchInput,
  NativeTensorSpec,
  NativeVersionConfig,
} from '../../addon/native/version-config.js';
import {
  batchInputKinds,
  batchInputRank,
  fullDims,
  hasRowsInValues,
  typeNumber,
  type BackendRules,
  type ModelConfig,
} from '../../config/index.js';

function specOf(
  config: ModelConfig,
  tensor: ModelConfig['input'][number] | ModelConfig['output'][number],
): NativeTensorSpec {
  return {
    name: tensor.name,
    datatype: typeNumber(tensor.data_type),
    // These are the model's dims. Callers see `outer`.
    dims: fullDims(config, tensor, tensor.reshape?.shape),
    optional: 'optional' in tensor && tensor.optional,
    outer: tensor.reshape && fullDims(config, tensor),
    rowsInValues: hasRowsInValues(config, tensor),
  };
}

/**
 * The tensors of a version. The inputs that callers send come first, in the order of the configuration.
 *
 * @param hidden - Tensors of sequences, which callers neither send nor receive. They come behind the callers'.
 * @param ragged - How models of the backend get inputs of unequal shapes.
 */
export function tensorSpecs(
  config: ModelConfig,
  hidden: Pick<NativeVersionConfig, 'inputs' | 'outputs'>,
  ragged: BackendRules['ragged'],
): Pick<NativeVersionConfig, 'inputs' | 'outputs' | 'batchInputs'> {
  const sent = config.input.map((input): NativeTensorSpec => ({
    ...specOf(config, input),
    ragged: input.allow_ragged_batch,
  }));
  const inputs = [...sent, ...hidden.inputs];
  const outputs = [...config.output.map((output) => specOf(config, output)), ...hidden.outputs];
  // A model that gets each request by itself knows its shapes.
  if (ragged !== 'joined') return { inputs, outputs, batchInputs: [] };
  const positionOf = ([name]: readonly string[]): number =>
    config.input.findIndex((input) => input.name === name);
  const batchInputs: NativeBatchInput[] = [];
  for (const { kind, target_name: targets, source_input: source, data_type: type } of config.batch_input) {
    for (const name of targets) {
      batchInputs.push({
        kind: batchInputKinds.indexOf(kind),
        source: positionOf(source),
        target: inputs.length,
      });
      inputs.push({
        name,
        datatype: typeNumber(type),
        dims: Array.from({ length: batchInputRank(kind) }, () => -1),
        optional: false,
        rowsInValues: false,
        internal: true,
        ofBatch: true,
      });
    }
  }
  const shaped = outputs.map((output): NativeTensorSpec => {
    const like = config.batch_output.find(({ target_name: targets }) => targets.includes(output.name));
    return like === undefined ? output : { ...output, shapedLike: positionOf(like.source_input) };
  });
  return { inputs, outputs: shaped, batchInputs };
}
