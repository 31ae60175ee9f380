/** Completes a configuration from the model's inputs and outputs, as Triton's onnxruntime backend does. */

import { expandConfig } from '../schema/expand.js';
import {
  dataTypeOf,
  shapeText,
  withoutTypeText,
  type ModelDescription,
  type TensorDescription,
} from './description.js';
import { asInput, asOutput, lacksParts, withModelParts, type CompletedTensor } from './complete-written.js';
import { withPreferredSizes } from './normalize.js';
import { indexPath } from '../schema/paths.js';
import type { Report } from '../text/problems.js';
import { isRagged } from './ragged.js';
import { doubtText, rowsDoubt } from './rows.js';
import { mayBatch, withoutBatch } from './shape-tensors.js';
import type { ModelConfig } from '../schema/types.js';

/** A backend's settings for completion. */
export interface BackendDefaults {
  /**
   * The `max_batch_size` of a model that can be batched and writes none: the backend option
   * `default-max-batch-size`.
   */
  readonly defaultMaxBatchSize: number;
}

/** Triton's own settings. */
export const tritonDefaults: BackendDefaults = { defaultMaxBatchSize: 4 };

/** A completed configuration. */
export interface CompletedConfig {
  readonly config: ModelConfig;
  /** One sentence for each value that was filled in, beginning with its path. */
  readonly notes: readonly string[];
  /**
   * Why `max_batch_size` became 0 although all first dimensions are variable; undefined if it did not become 0,
   * or was written.
   */
  readonly unbatched?: string | undefined;
}

/**
 * Fills in what Triton fills in for an ONNX model. If both inputs and outputs are written, nothing is filled
 * in. Otherwise it adds the missing section, `max_batch_size` and, if that becomes larger than 1 and no
 * scheduler is written, `dynamic_batching`. It never changes written values.
 *
 * It differs from Triton in three ways. It batches an ONNX model only if the file shows that the model keeps
 * the rows of its inputs ({@link rowsDoubt}). It keeps a written `max_batch_size: 0`. It leaves out outputs
 * whose type Triton has no name for, unless there is no other output.
 *
 * @param config - Filled and normalised.
 * @param zeroWritten - Whether `max_batch_size: 0` was written.
 * @param described - The model's inputs and outputs.
 * @param defaults - Settings of the backend.
 * @param report - Called for each problem that prevents completion.
 * @param completesTensors - Whether missing parts of written sections are filled in, too.
 */
export function completeConfig(
  config: ModelConfig,
  zeroWritten: boolean,
  described: ModelDescription,
  defaults: BackendDefaults,
  report: Report,
  completesTensors = false,
): CompletedConfig {
  const inputsWritten = config.input.length > 0 || config.batch_input.length > 0;
  const outputsWritten = config.output.length > 0;
  const isPartial = completesTensors && lacksParts(config, described);
  if (inputsWritten && outputsWritten && !isPartial) return { config, notes: [] };
  const sequence = config.sequence_batching;
  if (sequence && (sequence.state.length > 0 || sequence.control_input.length > 0)) {
    const missing = inputsWritten ? 'output' : 'input';
    report(missing, 'missing: with state or control_input, both input and output must be written');
    return { config, notes: [] };
  }

  const notes: string[] = [];
  const { description, leftOut } = outputsWritten
    ? { description: described, leftOut: [] }
    : withoutNamelessOutputs(described);
  const inputs = description.inputs.filter(({ optional }) => !optional);
  const batching = completeBatchSize(config, zeroWritten, description, defaults, report, completesTensors);
  const { maxBatchSize, unbatched } = batching;
  if (batching.text !== undefined) notes.push(`max_batch_size: ${batching.text}`);
  const fromModel = (section: 'input' | 'output', tensor: TensorDescription, at: number): CompletedTensor => {
    const path = indexPath(section, at);
    if (tensor.shape === undefined) reportUnranked(section, tensor, path, report);
    const completed = completeTensor(section, tensor, maxBatchSize, path, report);
    notes.push(`${path}: completed from the model: ${tensorText(completed)}`);
    return completed;
  };
  const tensors = (section: 'input' | 'output', found: readonly TensorDescription[]): CompletedTensor[] =>
    found.map((tensor, index) => fromModel(section, tensor, index));
  const written = isPartial ? withModelParts(config, described, fromModel) : config;
  const completed: ModelConfig = {
    ...config,
    max_batch_size: maxBatchSize,
    input: inputsWritten ? written.input : tensors('input', inputs).map(asInput),
    output: outputsWritten ? written.output : tensors('output', description.outputs).map(asOutput),
  };
  for (const output of leftOut) {
    notes.push(`output: left out, because the model's ${withoutTypeText('output', output)}`);
  }
  if (hasScheduler(config) || maxBatchSize <= 1) {
    return { config: withPreferredSizes(completed), notes, unbatched };
  }
  notes.push('dynamic_batching: added, because the model can be batched and no scheduler is written');
  return { config: { ...completed, dynamic_batching: emptyDynamicBatching }, notes };
}

/**
 * The model without outputs whose type Triton has no name for, so that its other outputs can be served. By
 * default scikit-learn's classifiers have such an output: a sequence of maps. If there is no other output, all
 * stay, and are reported.
 */
function withoutNamelessOutputs(description: ModelDescription): {
  readonly description: ModelDescription;
  readonly leftOut: readonly TensorDescription[];
} {
  const outputs = description.outputs.filter(({ datatype }) => datatype !== undefined);
  if (outputs.length === 0) return { description, leftOut: [] };
  const leftOut = description.outputs.filter(({ datatype }) => datatype === undefined);
  return { description: { ...description, outputs }, leftOut };
}

/**
 * Determines `max_batch_size`. A model can be batched if the first dimension of each tensor is variable and, as
 * far as dimensions have names, has the same name. The shape of a tensor of unknown rank is not checked.
 */
function completeBatchSize(
  config: ModelConfig,
  zeroWritten: boolean,
  description: ModelDescription,
  defaults: BackendDefaults,
  report: Report,
  completesTensors: boolean,
): { readonly maxBatchSize: number; readonly text?: string; readonly unbatched?: string } {
  const written = config.max_batch_size;
  const unfit = [...description.inputs, ...description.outputs].find(
    ({ optional, shape, isShapeTensor }) =>
      !optional && shape !== undefined && !mayBatch(shape, isShapeTensor),
  );
  const fixed = unfit && unbatchedText(unfit);
  if (written !== 0) {
    if (fixed === undefined) return { maxBatchSize: written };
    report(
      'max_batch_size',
      `is ${written}, but the model does not support batching: ${fixed}. Write max_batch_size: 0`,
    );
    return { maxBatchSize: 0 };
  }
  if (zeroWritten) return { maxBatchSize: 0 };
  if (fixed !== undefined) return { maxBatchSize: 0, text: `completed to 0, because ${fixed}` };
  if (description.mostRows !== undefined) return batchSizeOfModel(config, description, description.mostRows);
  const whole = completesTensors ? wholeDims(config, description) : undefined;
  if (whole !== undefined) return { maxBatchSize: 0, text: whole };
  // The first dim of a ragged input is no batch, and whoever wrote it means batches.
  const doubt = isRagged(config) ? undefined : rowsDoubt(description);
  if (doubt === undefined) {
    const size = Math.max(defaults.defaultMaxBatchSize, 0);
    return {
      maxBatchSize: size,
      text: `completed to ${size}, the default for a model that can be batched`,
    };
  }
  const unbatched =
    `completed to 0, because ${doubtText(doubt)}. ` +
    'If they have, write max_batch_size: 64, say, in config.pbtxt, and the model is batched';
  return { maxBatchSize: 0, text: unbatched, unbatched };
}

function unbatchedText({ name, shape = [], isShapeTensor }: TensorDescription): string {
  const what = JSON.stringify(name);
  return isShapeTensor === true
    ? `the shape tensor ${what}, ${shapeText(shape)}, has no values besides the batch`
    : `the first dimension of ${what}, ${shapeText(shape)}, is not variable`;
}

/**
 * The `max_batch_size` of a model that has its own limit of rows, such as a TensorRT plan. As in Triton it is
 * that limit, unless written dims include the batch dimension.
 */
function batchSizeOfModel(
  config: ModelConfig,
  description: ModelDescription,
  mostRows: number,
): { readonly maxBatchSize: number; readonly text: string } {
  if (mostRows === 0) return { maxBatchSize: 0, text: 'completed to 0, because the model cannot be batched' };
  const whole = wholeDims(config, description);
  if (whole !== undefined) return { maxBatchSize: 0, text: whole };
  return { maxBatchSize: mostRows, text: `completed to ${mostRows}, the most rows that the model takes` };
}

/** Why written dims show that the model is not to be batched: they include the batch dimension. */
function wholeDims({ input, output }: ModelConfig, description: ModelDescription): string | undefined {
  const written = [
    ...input.map(({ name, dims }) => ({ dims, found: description.inputs.find((one) => one.name === name) })),
    ...output.map(({ name, dims }) => ({
      dims,
      found: description.outputs.find((one) => one.name === name),
    })),
  ];
  const whole = written.find(({ dims, found }) =>
    found?.isShapeTensor === true ? found.shape?.[0] === dims[0] : found?.shape?.length === dims.length,
  );
  return (
    whole && `completed to 0, because the dims of ${JSON.stringify(whole.found?.name)} are the whole shape`
  );
}

function reportUnranked(
  section: 'input' | 'output',
  { name, datatype }: TensorDescription,
  path: string,
  report: Report,
): void {
  const type = datatype === undefined ? '' : ` data_type: ${dataTypeOf(datatype)}`;
  report(
    path,
    `cannot be completed: the model's file does not say how many dimensions its ${section} ${JSON.stringify(name)} has. ` +
      `Write all ${section}s with their dims in config.pbtxt, such as ` +
      `${section} [ { name: ${JSON.stringify(name)}${type} dims: [ -1, 16 ] } ]`,
  );
}

function completeTensor(
  section: 'input' | 'output',
  tensor: TensorDescription,
  maxBatchSize: number,
  path: string,
  report: Report,
): CompletedTensor {
  if (tensor.datatype === undefined) {
    report(path, `cannot be completed: the model's ${section} ${withoutTypeText(section, tensor)}`);
  }
  const shape = tensor.shape ?? [];
  const dims = maxBatchSize > 0 ? withoutBatch(shape, tensor.isShapeTensor) : shape;
  return {
    name: tensor.name,
    data_type: tensor.datatype === undefined ? 'TYPE_INVALID' : dataTypeOf(tensor.datatype),
    // Triton does not allow empty dims. In a batching model, a reshape marks that the single dimension is not
    // the model's own.
    dims: dims.length === 0 ? [1] : dims,
    reshape: dims.length === 0 && maxBatchSize > 0 ? { shape: [] } : undefined,
    is_shape_tensor: tensor.isShapeTensor ?? false,
  };
}

function tensorText({ name, data_type, dims, reshape }: CompletedTensor): string {
  const other = reshape === undefined ? '' : ` with reshape ${shapeText(reshape.shape)}`;
  return `${JSON.stringify(name)}, ${data_type}, dims ${shapeText(dims)}${other}`;
}

function hasScheduler(config: ModelConfig): boolean {
  return (config.dynamic_batching ?? config.sequence_batching ?? config.ensemble_scheduling) !== undefined;
}

const emptyDynamicBatching = expandConfig({ dynamic_batching: {} }).dynamic_batching;
