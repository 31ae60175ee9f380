/** The ranges of integers, and the error for a value that a datatype cannot hold, for all protocols. */

import { invalidArgument, type TritonError } from '../errors.js';
import type { Datatype } from '../tensor/datatype.js';

/** The least and greatest value of each integer datatype that a number holds. */
export const integerRanges: Readonly<Partial<Record<Datatype, readonly [number, number]>>> = {
  INT8: [-(2 ** 7), 2 ** 7 - 1],
  INT16: [-(2 ** 15), 2 ** 15 - 1],
  INT32: [-(2 ** 31), 2 ** 31 - 1],
  UINT8: [0, 2 ** 8 - 1],
  UINT16: [0, 2 ** 16 - 1],
  UINT32: [0, 2 ** 32 - 1],
};

/**
 * The error for an element that its datatype cannot hold.
 *
 * @param what - 'input' or 'output'.
 */
export function outsideRange(
  what: 'input' | 'output',
  name: string,
  index: number,
  value: unknown,
  datatype: Datatype,
): TritonError {
  return invalidArgument(
    `${what} '${name}', element ${index}: ${String(value)} is out of the range of ${datatype}`,
    { tensor: name },
  );
}
