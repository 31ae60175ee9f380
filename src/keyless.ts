/** Objects whose content is in none of their keys, which code that reads keys would ignore. */

import { types } from 'node:util';

/** By the class and not by the prototype: a test runner has classes of its own. */
const kinds: readonly (readonly [name: string, is: (value: object) => boolean])[] = [
  ['a Map', types.isMap],
  ['a Set', types.isSet],
  ['a Promise', types.isPromise],
  ['a Date', types.isDate],
  ['a RegExp', types.isRegExp],
  ['a WeakMap', types.isWeakMap],
  ['a WeakSet', types.isWeakSet],
  ['an ArrayBuffer', types.isAnyArrayBuffer],
  ['a typed array', (value): boolean => ArrayBuffer.isView(value)],
  // Such as Headers, and texts that are objects.
  ['an iterable', (value): boolean => Symbol.iterator in value],
];

/** The noun for such an object; undefined for all others. It runs no code of the caller. */
export function keyless(value: object): string | undefined {
  if (types.isProxy(value)) return undefined;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return undefined;
  return kinds.find(([, is]) => is(value))?.[0];
}

/** Whether a value is an object that has what it holds in keys. */
export function isKeyed(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && keyless(value) === undefined;
}
