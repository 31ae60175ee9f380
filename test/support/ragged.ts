/** Configurations of models with ragged inputs. */

/** A dynamic batcher that waits for batches of this many rows as long as a test may take. */
export const together = (rows: number): string =>
  `preferred_batch_size: ${rows} max_queue_delay_microseconds: 20000000`;

/** A `batch_input`. */
export const made = (kind: string, target: string, source: string, type: string = 'TYPE_INT32'): string =>
  `batch_input { kind: ${kind} target_name: "${target}" data_type: ${type} source_input: "${source}" }`;

/** One ragged FP32 input x, and an output y of variable length. */
export const raggedRows = {
  inputs: [{ name: 'x', dims: [-1], ragged: true }],
  outputs: [{ name: 'y', dims: [-1] }],
} as const;
