/**
 * Decides whether a model can be batched safely: whether it keeps the rows of its inputs, so that no caller
 * receives another caller's rows.
 */

import { namedShapeText, type ModelDescription, type TensorDescription } from './description.js';
import type { ModelConfig } from '../schema/types.js';

/**
 * Why it is not certain that each output has one row for each row of the inputs; undefined if there is no
 * doubt.
 *
 * Requests that run together are separated by their rows. A model that drops some rows and adds others may
 * return the right number of rows, and nobody notices that they belong to other requests. So the model's file
 * must give the outputs' first dimension the same name as the inputs', and must have no operator that
 * contradicts this.
 */
export function rowsDoubt({ inputs, outputs, rowsVary }: ModelDescription): string | undefined {
  const [first, ...others] = inputs.filter(({ optional }) => !optional);
  if (first === undefined) return 'the model has no inputs that tell how many rows there are';
  const rows = rowsName(first);
  if (rows === '') return nameless('input', first);
  const input = others.find((other) => rowsName(other) !== rows);
  if (input !== undefined) {
    return rowsName(input) === '' ? nameless('input', input) : unlike('input', input, first);
  }
  const output = outputs.find((one) => rowsName(one) !== rows);
  if (output !== undefined) {
    return rowsName(output) === '' ? nameless('output', output) : unlike('output', output, first);
  }
  return rowsVary;
}

/**
 * Whether only names are missing: first dimensions have none, as in skl2onnx's files, and no operator
 * contradicts batching.
 */
export function lacksNames({ inputs, outputs, rowsVary }: ModelDescription): boolean {
  const tensors = [...inputs.filter(({ optional }) => !optional), ...outputs];
  return rowsVary === undefined && tensors.every((one) => rowsName(one) === '');
}

/** The doubt as a sentence, with its reason. */
export function doubtText(doubt: string): string {
  return `${doubt}; so it is not known that outputs have a row for each row of the inputs`;
}

/** The warning about a written batch size of a model with such a doubt. */
export function doubtedBatching(doubt: string, config: ModelConfig): string {
  const size = config.max_batch_size;
  const together = size > 1 && (config.dynamic_batching ?? config.sequence_batching) !== undefined;
  return (
    `max_batch_size: is ${size}, but ${doubtText(doubt)}. If they have not, ` +
    (together ? "requests that run together may be answered with each other's rows" : 'requests fail') +
    ': write max_batch_size: 0 and whole shapes as dims'
  );
}

function rowsName({ dimNames }: TensorDescription): string {
  return dimNames[0] ?? '';
}

function nameless(side: string, tensor: TensorDescription): string {
  return `the first dimension of ${side} ${tensorText(tensor)}, has no name in the model's file`;
}

function unlike(side: string, tensor: TensorDescription, first: TensorDescription): string {
  return `the first dimension of ${side} ${tensorText(tensor)}, is not that of input ${tensorText(first)}`;
}

function tensorText(tensor: TensorDescription): string {
  return `${JSON.stringify(tensor.name)}, ${namedShapeText(tensor)}`;
}
