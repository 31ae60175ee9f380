/** Checks of callers' arguments, shared by all that takes options. */

import { didYouMean } from './suggest.js';
import { invalidArgument } from './errors.js';

/** A value in messages. It runs no code of the caller, so that what cannot become text is named, too. */
export function show(value: unknown): string {
  if (typeof value === 'function') return 'a function';
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

/** What a program in JavaScript may have passed for options. */
export type Given<T> = Readonly<Partial<Record<keyof T, unknown>>>;

/**
 * Reads options, each of which may be left out. One that is `null` is left out, as one that is `undefined`, and so are all
 * of them where `value` is: many programs write `null` for what they do not have.
 *
 * @returns A copy of those that are there. Each of the caller's getters has run once.
 * @throws {@link TritonError} INVALID_ARG for anything but an object, and for unknown keys.
 */
export function readOptions<T>(value: unknown, known: readonly (keyof T & string)[], path: string): Given<T> {
  const read: Partial<Record<keyof T, unknown>> = {};
  const given = value ?? {};
  checkObject(given, path);
  checkKeys(given, known, path);
  for (const key of known) {
    const member: unknown = (given as Given<T>)[key];
    if (member !== undefined && member !== null) read[key] = member;
  }
  return read;
}

/** The most entries of a list. A list of holes may claim any length, and to copy it could end the process. */
const mostEntries = 2 ** 20;

/**
 * A copy of a list, which has undefined where the list has holes. Loops over these would pass them by.
 *
 * @throws {@link TritonError} INVALID_ARG for anything else, and for more than 2^20 entries.
 */
export function readList(value: unknown, what: string, path: string): unknown[] {
  if (!Array.isArray(value)) throw expected(what, path, value);
  if (!(value.length <= mostEntries))
    throw invalidArgument(
      `expected at most ${mostEntries} entries for ${path} but received ${show(value.length)}`,
    );
  return Array.from(value as readonly unknown[]);
}
