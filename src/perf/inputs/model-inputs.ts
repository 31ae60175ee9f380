/** The inputs and outputs of the measured model, and the shapes of their rows. */

import { invalidArgument } from '../../errors.js';
import { hasRowsInValues, type ModelConfig } from '../../config/index.js';
import type { ModelMetadata } from '../../api/metadata.js';
import type { Datatype } from '../../tensor/datatype.js';
import { didYouMean } from '../../suggest.js';
import { formatShape } from '../../tensor/shape.js';

/** An input or output. */
export interface PlannedTensor {
  readonly name: string;
  readonly datatype: Datatype;
  /** The shape of a row: the dims without the batch dimension, -1 where a dim is variable. */
  readonly dims: readonly number[];
  /** The shape that `--shape` gives, or the dims if none is variable; undefined if data must come with a shape. */
  readonly shape: readonly number[] | undefined;
  readonly optional: boolean;
  /** Whether its values are a shape, which cannot be random. */
  readonly isShape: boolean;
}

/** The model's tensors. */
export interface PlannedModel {
  readonly name: string;
  readonly inputs: readonly PlannedTensor[];
  readonly outputs: readonly PlannedTensor[];
  /** 0: no batch dimension. */
  readonly maxBatchSize: number;
  readonly decoupled: boolean;
}

/**
 * Reads the model's description.
 *
 * @param shapes - Values of `--shape`, by input.
 * @throws {@link TritonError} INVALID_ARG for shapes that do not fit.
 */
export function planModel(
  metadata: ModelMetadata,
  config: ModelConfig | undefined,
  shapes: ReadonlyMap<string, readonly number[]>,
): PlannedModel {
  const maxBatchSize = config?.max_batch_size ?? 0;
  const names = metadata.inputs.map(({ name }) => name);
  for (const name of shapes.keys()) {
    if (!names.includes(name))
      throw invalidArgument(
        `--shape: model '${metadata.name}' has no input '${name}'${didYouMean(name, names)}; its inputs are ${names.join(', ')}`,
      );
  }
  const plan = (isInput: boolean) => {
    return ({ name, datatype, shape }: ModelMetadata['inputs'][number]): PlannedTensor => {
      const input = isInput ? config?.input.find((one) => one.name === name) : undefined;
      const isShape = input !== undefined && config !== undefined && hasRowsInValues(config, input);
      const full = shape.map(Number);
      const dims = maxBatchSize > 0 && !isShape ? full.slice(1) : full;
      const given = isInput ? shapes.get(name) : undefined;
      if (given !== undefined) checkShape(name, dims, given, '--shape');
      return {
        name,
        datatype,
        dims,
        shape: given ?? (dims.every((dim) => dim >= 0) ? dims : undefined),
        optional: input?.optional ?? false,
        isShape,
      };
    };
  };
  return {
    name: metadata.name,
    inputs: metadata.inputs.map(plan(true)),
    outputs: metadata.outputs.map(plan(false)),
    maxBatchSize,
    decoupled: config?.model_transaction_policy?.decoupled ?? false,
  };
}

/**
 * Compares a shape with dims.
 *
 * @throws {@link TritonError} INVALID_ARG if it does not fit them.
 */
export function checkShape(
  name: string,
  dims: readonly number[],
  shape: readonly number[],
  where: string,
): void {
  const fits = shape.length === dims.length && dims.every((dim, i) => dim < 0 || dim === shape[i]);
  if (fits) return;
  throw invalidArgument(
    `${where}: expected a shape like ${formatShape(dims)} for '${name}', without the batch dimension, but received ${formatShape(shape)}`,
  );
}
