/**
 * Shape tensors (`is_shape_tensor`) of models that batch. The batch is their first value, not their first dim.
 */

import type { ModelConfig, ModelInput, ModelOutput } from '../schema/types.js';

/** The part of a tensor that is needed here. */
type Tensor = Pick<ModelInput | ModelOutput, 'dims' | 'is_shape_tensor'>;

/**
 * Whether the first value of a tensor is the number of rows of the request. Its `dims` do not count that value.
 *
 * @param config - The model's configuration.
 */
export function hasRowsInValues(
  { max_batch_size: most }: Pick<ModelConfig, 'max_batch_size'>,
  tensor: Tensor,
): boolean {
  return most > 0 && tensor.is_shape_tensor;
}

/**
 * The shape that a tensor has in requests and responses; variable dims and the batch are -1.
 *
 * @param config - The model's configuration.
 * @param dims - Dims to use instead of the tensor's, such as those of its `reshape`.
 */
export function fullDims(
  config: Pick<ModelConfig, 'max_batch_size'>,
  tensor: Tensor,
  dims: readonly number[] = tensor.dims,
): readonly number[] {
  if (config.max_batch_size === 0) return dims;
  if (!tensor.is_shape_tensor) return [-1, ...dims];
  return dims.map((dim, index) => (index > 0 || dim === -1 ? dim : dim + 1));
}

/**
 * Whether a tensor of this shape may contain the batch: as its first dimension, or as the first of several
 * values.
 */
export function mayBatch(shape: readonly number[], isShapeTensor = false): boolean {
  return isShapeTensor ? shape.length === 1 && (shape[0] ?? 0) > 1 : shape[0] === -1;
}

/** The dims of a model's tensor without the batch, which is a value in a shape tensor. */
export function withoutBatch(shape: readonly number[], isShapeTensor = false): readonly number[] {
  return isShapeTensor ? shape.map((values) => values - 1) : shape.slice(1);
}
