/** Makes inputs of a model from a few elements. */

import { TritonError } from '../../errors.js';
import type { TensorMetadata } from '../../api/metadata.js';
import type { TensorInput } from '../../tensor/inputs.js';
import { readTensor } from '../http/json-tensor.js';

/**
 * The shape of an input with so many elements; undefined if none fits. The last variable dim takes them; other variable
 * dims are 1.
 *
 * @param rows - The size of the batch; undefined: the model has no batches.
 */
export function shapeFor(
  { shape }: TensorMetadata,
  elements: number,
  rows: number | undefined,
): number[] | undefined {
  const dims = [...shape];
  if (rows !== undefined) dims[0] = rows;
  const last = dims.lastIndexOf(-1);
  const fixed = dims.reduce((product, dim) => (dim === -1 ? product : product * dim), 1);
  const filled = dims.map((dim, i) => (dim !== -1 ? dim : i === last ? elements / fixed : 1));
  const fits = filled.reduce((product, dim) => product * dim, 1) === elements;
  return fits && filled.every(Number.isInteger) ? filled : undefined;
}

/**
 * An input with these elements, of the shape that {@link shapeFor} gives.
 *
 * @throws {@link TritonError} UNSUPPORTED for a shape that does not hold them, INVALID_ARG for wrong elements.
 */
export function tensorOf(
  model: string,
  metadata: TensorMetadata,
  elements: readonly unknown[],
  rows: number | undefined,
): TensorInput {
  const { name, datatype, shape } = metadata;
  const filled = shapeFor(metadata, elements.length, rows);
  if (filled === undefined) {
    throw new TritonError(
      'UNSUPPORTED',
      `model '${model}', input '${name}': expected a shape for ${elements.length} elements, but it is [${shape.join(',')}]`,
      { model, tensor: name },
    );
  }
  return readTensor(name, datatype, filled, elements);
}
