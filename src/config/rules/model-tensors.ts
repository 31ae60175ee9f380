/** A model's tensors, as a configuration is compared with them. */

import { didYouMean } from '../../suggest.js';
import type { DataType, ModelConfig } from '../schema/types.js';
import type { Report } from '../text/problems.js';
import { dataTypeOf, datatypeOf, shapeText, withoutTypeText, type TensorDescription } from './description.js';

/** The inputs or outputs of a model by name. */
export type Tensors = ReadonlyMap<string, TensorDescription>;

/** One side of a model. */
export interface Side {
  readonly kind: 'input' | 'output';
  readonly tensors: Tensors;
}

/** A model's inputs or outputs by name. */
export function byName(tensors: readonly TensorDescription[]): Tensors {
  return new Map(tensors.map((tensor) => [tensor.name, tensor]));
}

/** The model's tensor of this name. Reports at `path` if there is none. */
export function find(side: Side, path: string, name: string, report: Report): TensorDescription | undefined {
  const tensor = side.tensors.get(name);
  if (tensor !== undefined) return tensor;
  const names = [...side.tensors.keys()];
  const known = names.length === 0 ? 'it has none' : `its ${side.kind}s are ${names.join(', ')}`;
  report(path, `the model has no ${side.kind} ${JSON.stringify(name)}; ${known}${didYouMean(name, names)}`);
  return undefined;
}

/** Compares a written type with the model's. Reports at `path`. */
export function compareType(
  side: Side,
  path: string,
  type: DataType,
  tensor: TensorDescription,
  report: Report,
): void {
  if (tensor.datatype !== undefined && datatypeOf(type) === tensor.datatype) return;
  const text =
    tensor.datatype === undefined
      ? `is ${type}, but the model's ${side.kind} ${withoutTypeText(side.kind, tensor)}`
      : `the model's ${side.kind} ${JSON.stringify(tensor.name)} has type ${tensor.typeName}, ` +
        `which is ${dataTypeOf(tensor.datatype)}, but the configuration says ${type}`;
  report(path, text);
}

/** Why a tensor of the model has no place for a batch. */
export function batchFault(
  config: Pick<ModelConfig, 'max_batch_size'>,
  side: Side,
  tensor: TensorDescription,
  shape: readonly number[],
): string {
  const first = tensor.isShapeTensor === true ? undefined : shape[0];
  return (
    `is ${config.max_batch_size}, but the model's ${side.kind} ${JSON.stringify(tensor.name)} has shape ` +
    `${shapeText(shape)}${first === undefined ? '' : `, whose first dimension is fixed to ${first}`}: it cannot ` +
    `be batched. Write max_batch_size: 0 and whole shapes as dims`
  );
}
