/** Shape tensors of models that batch. The first value of each is the number of rows of its request. */

import { invalidArgument } from '../errors.js';
import { quote } from './describe.js';
import type { EncodedInputs } from './encoded.js';

/**
 * Compares the first values of shape tensors with the rows that the other inputs have.
 *
 * @param model - Name of the model, for messages.
 * @param names - For each input its name if it is a shape tensor, otherwise undefined.
 * @throws {@link TritonError} INVALID_ARG, with model and tensor, for a shape tensor whose value differs.
 */
export function checkRowsInValues(
  model: string,
  names: readonly (string | undefined)[],
  { data }: EncodedInputs,
  rows: number,
): void {
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    const values = data[i];
    if (name === undefined || values === undefined) continue;
    const found = values[0];
    if (found !== undefined && Number(found) === rows) continue;
    throw invalidArgument(
      `model ${quote(model)}, input ${quote(name)}: expected its first value to be ${rows}, the rows of the ` +
        `other inputs, but got ${String(found)}`,
      { model, tensor: name },
    );
  }
}
