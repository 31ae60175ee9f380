/** Checks of callers' arguments, shared by all functions that take options. */

import { didYouMean } from './suggest.js';
import { invalidArgument } from './errors.js';
import { isKeyed, keyless } from './keyless.js';
import { printableLine } from './printable.js';

/**
 * A value as text for messages. It runs no code of the caller, so a value whose conversion to text would throw
 * can be shown, too.
 */
export function show(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'string') return `'${printableLine(value)}' of type string`;
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? 'an array' : (keyless(value) ?? 'an object');
  const text = String(value);
  return value === undefined || value === null ? text : `${text} of type ${typeof value}`;
}

/** The error for a value of the wrong kind. */
export function expected(what: string, path: string, value: unknown): Error {
  return invalidArgument(`expected ${what} for ${path} but received ${show(value)}`);
}

/**
 * Throws for unknown keys.
 *
 * @param why - Returns why a key is refused, if there is more to say of it than that it is unknown.
 */
export function checkKeys(
  value: object,
  known: readonly string[],
  path: string,
  why?: (key: string) => string | undefined,
): void {
  for (const key in value) {
    if (known.includes(key) || !Object.hasOwn(value, key)) continue;
    const near = why?.(key) ?? `${didYouMean(key, known)}; it takes ${known.join(', ')}`;
    throw invalidArgument(`unknown key '${printableLine(key)}' in ${path}${near}`);
  }
}

/** Throws unless `value` is an object that has what it holds in keys: a Map would be ignored. */
export function checkObject(value: unknown, path: string): asserts value is object {
  if (isKeyed(value)) return;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  throw expected(isObject ? 'an object with keys' : 'an object', path, value);
}

/** Options before they are checked: a JavaScript program may pass any value for each key. */
export type Given<T> = Readonly<Partial<Record<keyof T, unknown>>>;

/**
 * Reads options, each of which is optional. `null` counts as absent, like `undefined`, both for one option and
 * for the whole `value`, because many programs write `null` for an absent value.
 *
 * @param why - As for {@link checkKeys}.
 * @returns A copy of the options that are present. Each of the caller's getters has run once.
 * @throws {@link TritonError} INVALID_ARG if `value` is not an object, and for unknown keys.
 */
export function readOptions<T>(
  value: unknown,
  known: readonly (keyof T & string)[],
  path: string,
  why?: (key: string) => string | undefined,
): Given<T> {
  const read: Partial<Record<keyof T, unknown>> = {};
  const given = value ?? {};
  checkObject(given, path);
  checkKeys(given, known, path, why);
  for (const key of known) {
    const member: unknown = (given as Given<T>)[key];
    if (member !== undefined && member !== null) read[key] = member;
  }
  return read;
}

/**
 * The maximum number of entries of a list. A sparse array may claim any length, and copying it could end the
 * process.
 */
const mostEntries = 2 ** 20;

/**
 * A copy of a list, with undefined in place of its holes. Methods such as `forEach` would skip holes.
 *
 * @throws {@link TritonError} INVALID_ARG if `value` is not an array, or has more than 2^20 entries.
 */
export function readList(value: unknown, what: string, path: string): unknown[] {
  if (!Array.isArray(value)) throw expected(what, path, value);
  if (!(value.length <= mostEntries))
    throw invalidArgument(
      `expected at most ${mostEntries} entries for ${path} but received ${show(value.length)}`,
    );
  return Array.from(value as readonly unknown[]);
}
