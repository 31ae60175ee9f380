/** Splits a request's parameters into options of the request and parameters for the model. */

import { invalidArgument } from '../../errors.js';
import type { InferOptions } from '../../api/results.js';
import type { Parameters, ParameterValue } from '../../protocol/parameters.js';

/** The parameters as options of a request. */
export type ParameterOptions = Pick<InferOptions, 'priority' | 'timeoutUs' | 'parameters' | 'sequence'>;

const none: ParameterOptions = Object.freeze({});

function wrongValue(name: string, what: string, value: ParameterValue): Error {
  return invalidArgument(
    `expected ${what} for parameter '${name}' but received ${String(value)} of type ${typeof value}`,
  );
}

/** An unsigned integer of 64 bits, as a number where that is exact. */
function unsigned(name: string, value: ParameterValue): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  if (typeof value === 'bigint' && value >= 0n) {
    if (value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
    throw invalidArgument(`parameter '${name}' is ${value}, which is over 2^53 - 1`);
  }
  throw wrongValue(name, 'an unsigned integer', value);
}

/** A correlation id. Its size is checked with the option `sequence`. */
function sequenceId(name: string, value: ParameterValue): number | bigint | string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  if (typeof value === 'bigint' && value >= 0n && value < 2n ** 64n) return value;
  throw wrongValue(name, 'an unsigned integer of 64 bits or a string', value);
}

function flag(name: string, value: ParameterValue): boolean {
  if (typeof value === 'boolean') return value;
  throw wrongValue(name, 'true or false', value);
}

/**
 * Reads a request's parameters.
 *
 * @throws {@link TritonError} INVALID_ARG for a value of the wrong type.
 */
export function readParameters(given: Parameters): ParameterOptions {
  if (given.size === 0) return none;
  let priority: number | undefined;
  let timeoutUs: number | undefined;
  let id: number | bigint | string = 0;
  let start = false;
  let end = false;
  const rest: [string, ParameterValue][] = [];
  for (const [name, value] of given) {
    if (name === 'priority') priority = unsigned(name, value);
    else if (name === 'timeout') timeoutUs = unsigned(name, value);
    else if (name === 'sequence_id') id = sequenceId(name, value);
    else if (name === 'sequence_start') start = flag(name, value);
    else if (name === 'sequence_end') end = flag(name, value);
    else rest.push([name, value]);
  }
  const isOne = start || end || (id !== 0 && id !== '');
  return {
    priority,
    timeoutUs,
    // fromEntries defines properties, so `__proto__` is a name like any other.
    parameters: rest.length > 0 ? Object.fromEntries(rest) : undefined,
    sequence: isOne ? { id, start, end } : undefined,
  };
}
