/** The lines that `tritonts check` prints for a model that would load: its inputs, outputs, and batching. */

import { datatypeOf, type ModelConfig } from '../config/index.js';
import { printableLine } from '../printable.js';

type AnyTensorConfig = ModelConfig['input'][number] | ModelConfig['output'][number];

/** The shape of a tensor in a request or an answer. */
function shapeOf({ dims, is_shape_tensor }: AnyTensorConfig, { max_batch_size }: ModelConfig): string {
  const batch = max_batch_size > 0 && !is_shape_tensor ? ['batch'] : [];
  return `[${[...batch, ...dims].join(', ')}]`;
}

function remarksOf(tensor: AnyTensorConfig): string {
  const remarks = [
    ...('optional' in tensor && tensor.optional ? ['optional'] : []),
    ...('allow_ragged_batch' in tensor && tensor.allow_ragged_batch ? ['ragged'] : []),
    ...(tensor.is_shape_tensor ? ['shape tensor'] : []),
    ...('label_filename' in tensor && tensor.label_filename !== ''
      ? [`labels in ${printableLine(tensor.label_filename)}`]
      : []),
  ];
  return remarks.length === 0 ? '' : ` (${remarks.join('; ')})`;
}

/** How requests are batched. */
function batchText(config: ModelConfig): string {
  const { max_batch_size: most, dynamic_batching: dynamic } = config;
  if (most === 0) return 'none: max_batch_size is 0, so shapes have no batch dimension';
  const rows = `up to ${most} row${most === 1 ? '' : 's'}`;
  if (config.ensemble_scheduling !== undefined) return `${rows} a request; its steps batch`;
  if (dynamic === undefined)
    return `${rows} of one request; 'dynamic_batching { }' puts several requests together`;
  const delay = dynamic.max_queue_delay_microseconds;
  return `${rows} of several requests${delay > 0 ? `, which wait for others up to ${delay} µs` : ''}`;
}

/**
 * The lines for a model.
 *
 * @param config - The model's complete configuration.
 */
export function tensorLines(config: ModelConfig): readonly string[] {
  const all = [...config.input, ...config.output];
  const width = Math.max(0, ...all.map(({ name }) => printableLine(name).length));
  const line = (kind: string, tensor: AnyTensorConfig): string =>
    `${kind} ${printableLine(tensor.name).padEnd(width)}  ${datatypeOf(tensor.data_type) ?? tensor.data_type} ${shapeOf(tensor, config)}${remarksOf(tensor)}`;
  return [
    ...config.input.map((tensor) => line('input ', tensor)),
    ...config.output.map((tensor) => line('output', tensor)),
    `batch  ${batchText(config)}`,
    ...(config.model_transaction_policy?.decoupled === true
      ? ['answers come as a stream (decoupled): stream() reads them']
      : []),
  ];
}
