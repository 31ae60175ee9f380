/** What the native side makes of a model's shapes before it compiles the model. */

import type { ModelConfig, ModelDescription, TensorDescription } from '../../config/index.js';

/** The shape with a variable first dimension. A tensor without dimensions keeps its shape. */
function withVariableRows(shape: readonly number[]): readonly number[] {
  return shape.length === 0 ? shape : [-1, ...shape.slice(1)];
}

/**
 * The description of a model as the configuration wants it. With a `max_batch_size`, a fixed first dimension becomes
 * variable. With `takesDims`, the model gets the dims of the configuration. The native side reshapes the inputs, and
 * refuses a model whose outputs do not follow.
 *
 * @param takesDims - Whether the parameter RESHAPE_IO_LAYERS is on.
 */
export function reshapedDescription(
  description: ModelDescription,
  config: ModelConfig,
  takesDims: boolean,
): ModelDescription {
  const batching = config.max_batch_size > 0;
  if (!batching && !takesDims) return description;
  const written = new Map([...config.input, ...config.output].map((tensor) => [tensor.name, tensor]));
  const reshape = (tensor: TensorDescription): TensorDescription => {
    const { shape } = tensor;
    const own = takesDims ? written.get(tensor.name) : undefined;
    if (own !== undefined && own.dims.length > 0) {
      const dims = own.reshape?.shape ?? own.dims;
      return { ...tensor, shape: batching ? [-1, ...dims] : dims };
    }
    return batching && shape !== undefined ? { ...tensor, shape: withVariableRows(shape) } : tensor;
  };
  return {
    ...description,
    inputs: description.inputs.map(reshape),
    outputs: description.outputs.map(reshape),
    // A model that cannot be batched as it is can be after it is reshaped.
    mostRows: batching && description.mostRows === 0 ? undefined : description.mostRows,
  };
}
