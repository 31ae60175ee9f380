/** Outputs that are written to arrays of the caller's: `infer(inputs, { into: { y: array } })`. */

import { invalidArgument } from '../errors.js';
import type { Datatype } from './datatype.js';
import { describe } from './describe.js';
import { elementTypes } from './elements.js';
import { formatShape } from './shape.js';
import { newTensor, type Tensor } from './tensor.js';
import type { DataOf, TypedArray } from './types.js';
import { bytesAt, isDetached, kindOf } from './views.js';

/**
 * A caller's array for an output.
 *
 * @throws {TritonError} INVALID_ARG unless it is of the class that the output's `data` has
 */
export function checkInto(model: string, output: string, datatype: Datatype, target: unknown): TypedArray {
  const about = { model, tensor: output };
  if (datatype === 'BYTES') {
    const why = 'options.into takes outputs of fixed size, and strings have none';
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
  // It has a kind, so it is a typed array.
  const array = target as TypedArray;
  if (!isDetached(array, kind)) return array;
  throw invalidArgument(
    `model '${model}', output '${output}': the array in options.into has lost its buffer`,
    about,
  );
}

/**
 * The memory of the caller's array, now that the output is there.
 *
 * @param bytes - What the output takes.
 * @throws {TritonError} INVALID_ARG where it does not have just as many, or lost its buffer meanwhile
 */
export function targetMemory(
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
  throw invalidArgument(`output '${output}': expected ${expected} in options.into, but got ${got}`);
}

/** A tensor whose data is an array of its datatype's class, as `checkInto` made sure. */
export function tensorInto(datatype: Datatype, shape: readonly number[], data: TypedArray): Tensor {
  return new newTensor(datatype, shape, data as DataOf<Datatype>);
}
