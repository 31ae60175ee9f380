/**
 * Outputs for the caller's arrays: `infer(inputs, { into: { y: array } })`. Checks and wraps the arrays;
 * src/dispatch/responses/outputs.ts writes them.
 */

import { invalidArgument } from '../errors.js';
import type { Datatype } from './datatype.js';
import { describe } from './describe.js';
import { elementTypes } from './elements.js';
import { formatShape } from './shape.js';
import { newTensor, type Tensor } from './tensor.js';
import type { DataOf, TypedArray } from './types.js';
import { bytesAt, isDetached, kindOf } from './views.js';

/**
 * Checks a caller's array for an output.
 *
 * @throws {@link TritonError} INVALID_ARG unless it has the class that the output's `data` has.
 */
export function checkInto(model: string, output: string, datatype: Datatype, target: unknown): TypedArray {
  const about = { model, tensor: output };
  if (datatype === 'BYTES') {
    const why = 'options.into takes only outputs of fixed size, which strings are not';
    throw invalidArgument(`model '${model}', output '${output}': ${why}`, about);
  }
  const { wire } = elementTypes[datatype];
  const kind = kindOf(target);
  if (kind === undefined || kind !== wire) {
    const got = describe(target);
    throw invalidArgument(
      `model '${model}', output '${output}': expected a ${wire} in options.into, but got ${got}`,
      about,
    );
  }
  // A value that has a kind is a typed array.
  const array = target as TypedArray;
  if (!isDetached(array, kind)) return array;
  throw invalidArgument(
    `model '${model}', output '${output}': the array in options.into has lost its buffer`,
    about,
  );
}

/**
 * The memory of the caller's array, when the output has arrived.
 *
 * @param bytes - The size of the output.
 * @throws {@link TritonError} INVALID_ARG for an array of another size, or an array that was detached
 *   meanwhile.
 */
export function targetMemory(
  model: string,
  output: string,
  datatype: Datatype,
  shape: readonly number[],
  bytes: number,
  target: TypedArray,
): Uint8Array {
  const memory = bytesAt(target);
  if (memory?.byteLength === bytes) return memory;
  const got = memory === undefined ? 'an array that has lost its buffer' : describe(target);
  const expected = `an array for ${datatype} ${formatShape(shape)}`;
  throw invalidArgument(
    `model '${model}', output '${output}': expected ${expected} in options.into, but got ${got}`,
    { model, tensor: output },
  );
}

/** A tensor whose data is the caller's array. `checkInto` has checked the array's class. */
export function tensorInto(datatype: Datatype, shape: readonly number[], data: TypedArray): Tensor {
  return new newTensor(datatype, shape, data as DataOf<Datatype>);
}
