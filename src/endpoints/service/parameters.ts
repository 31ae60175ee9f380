/** Splits a request's parameters into options of the request and parameters for the model. */

import { invalidArgument, TritonError } from '../../errors.js';
import type { InferOptions } from '../../api/results.js';
import type { Parameters, ParameterValue } from '../../protocol/parameters.js';

/** The parameters as options of a request. */
export type ParameterOptions = Pick<InferOptions, 'priority' | 'timeoutUs' | 'parameters'>;

const none: ParameterOptions = Object.freeze({});

/** An unsigned integer of 64 bits, as a number where that is exact. */
function unsigned(name: string, value: ParameterValue): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  if (typeof value === 'bigint' && value >= 0n) {
    if (value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
    throw invalidArgument(`parameter '${name}' is ${value}, which is over 2^53 - 1`);
  }
  throw invalidArgument(
    `expected an unsigned integer for parameter '${name}' but received ${String(value)} of type ${typeof value}`,
  );
}

/** Refuses a request of a sequence. Sequences are not implemented, and it must not run as an ordinary request. */
function refuseSequence(name: string, value: ParameterValue): void {
  // As in Triton, an id of 0 or '' and a flag of false mean no sequence.
  if (value === 0 || value === '' || value === false) return;
  throw new TritonError(
    'UNSUPPORTED',
    `parameter '${name}': sequences are not supported; send the request without it`,
  );
}

/**
 * Reads a request's parameters.
 *
 * @throws {@link TritonError} INVALID_ARG for a value of the wrong type, UNSUPPORTED for a request of a sequence.
 */
export function readParameters(given: Parameters): ParameterOptions {
  if (given.size === 0) return none;
  let priority: number | undefined;
  let timeoutUs: number | undefined;
  const rest: [string, ParameterValue][] = [];
  for (const [name, value] of given) {
    if (name === 'priority') priority = unsigned(name, value);
    else if (name === 'timeout') timeoutUs = unsigned(name, value);
    else if (name === 'sequence_id' || name === 'sequence_start' || name === 'sequence_end')
      refuseSequence(name, value);
    else rest.push([name, value]);
  }
  // fromEntries defines properties, so `__proto__` is a name like any other.
  return { priority, timeoutUs, parameters: rest.length > 0 ? Object.fromEntries(rest) : undefined };
}
