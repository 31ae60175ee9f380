/** Checks of callers' arguments, shared by all that takes options. */

import { didYouMean } from './suggest.js';
import { invalidArgument } from './errors.js';

function show(value: unknown): string {
  if (typeof value === 'string') return `'${value}' of type string`;
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return `${String(value)} of type ${typeof value}`;
}

/** The error for a value of the wrong kind. */
export function expected(what: string, path: string, value: unknown): Error {
  return invalidArgument(`expected ${what} for ${path} but received ${show(value)}`);
}

/** Throws for unknown keys. */
export function checkKeys(value: object, known: readonly string[], path: string): void {
  for (const key in value) {
    if (!known.includes(key) && Object.hasOwn(value, key)) {
      throw invalidArgument(
        `unknown key '${key}' in ${path}${didYouMean(key, known)}; it takes ${known.join(', ')}`,
      );
    }
  }
}

/** Throws unless `value` is a plain object. */
export function checkObject(value: unknown, path: string): asserts value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw expected('an object', path, value);
}
