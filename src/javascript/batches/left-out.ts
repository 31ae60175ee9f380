/** Handles outputs that are missing in a result: left out on purpose (null), or forgotten. */

import { types } from 'node:util';
import { TritonError } from '../../errors.js';
import { describe, quote } from '../../tensor/describe.js';

/** A result without its null outputs, and the names of those outputs. */
export interface LeftOut {
  readonly rest: Readonly<Record<string, unknown>>;
  readonly names: ReadonlySet<string>;
}

/** See {@link LeftOut}. Undefined if no output is null. */
export function leftOutOf(result: unknown): LeftOut | undefined {
  if (typeof result !== 'object' || result === null || types.isProxy(result)) return undefined;
  const entries = Object.entries(result);
  const names = new Set(entries.filter(([, value]) => value === null).map(([name]) => name));
  if (names.size === 0) return undefined;
  return { rest: Object.fromEntries(entries.filter(([name]) => !names.has(name))), names };
}

/** Describes a result, for a message that says 'but got …'. It runs no code of the model. */
export function describeResult(result: unknown): string {
  const what = describe(result);
  if (what !== 'an object' || typeof result !== 'object' || result === null) return what;
  const prototype: unknown = Object.getPrototypeOf(result);
  if (typeof prototype !== 'object' || prototype === null || prototype === Object.prototype) return what;
  const made: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
  if (typeof made !== 'function') return what;
  const name: unknown = Object.getOwnPropertyDescriptor(made, 'name')?.value;
  return typeof name === 'string' && name !== '' ? `an instance of ${name}` : what;
}

/** The error for an output that the caller wants, and that is neither in the result nor null there. */
export function missingOutput(model: string, output: string, result: unknown): TritonError {
  return new TritonError(
    'INTERNAL',
    `model ${quote(model)}: expected output ${quote(output)}, which the caller requested, but got ${describeResult(result)} without it; ` +
      `return { ${quote(output)}: null } to leave it out`,
    { model, tensor: output },
  );
}
