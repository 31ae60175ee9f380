/**
 * Describes values in error messages. It runs no code of the caller: no `toString`, no getter, no proxy trap.
 */

import { types } from 'node:util';
import { isDetached, kindOf, lengthOf, type ViewKind } from './views.js';
import type { TypedArray } from './types.js';

const longestText = 60;

/** Text in single quotes, with control characters escaped, and cut if it is long. */
export function quote(text: string): string {
  const cut = text.length > longestText ? `${text.slice(0, longestText)}…` : text;
  return `'${JSON.stringify(cut).slice(1, -1).replaceAll('\\"', '"')}'`;
}

/** A noun for an object that is not a typed array. */
function describeObject(value: object): string {
  if (types.isProxy(value)) return 'a Proxy';
  if (Array.isArray(value)) return 'an array';
  if (types.isDataView(value)) return 'a DataView';
  if (types.isAnyArrayBuffer(value)) return 'an ArrayBuffer (wrap it in a typed array)';
  if (types.isPromise(value)) return 'a Promise (await it first)';
  if (types.isMap(value)) return 'a Map';
  if (types.isSet(value)) return 'a Set';
  if (types.isDate(value)) return 'a Date';
  return 'an object';
}

function describeView(view: TypedArray, kind: ViewKind): string {
  if (isDetached(view, kind)) return `detached ${kind} (its buffer was transferred, or shrunk)`;
  return `${kind} of length ${lengthOf(view)}`;
}

/** Describes a value, for a message that says 'but got …'. */
export function describe(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return `the string ${quote(value)}`;
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value);
    case 'bigint':
      return value > -(10n ** 40n) && value < 10n ** 40n ? `${value.toString()}n` : 'a very large bigint';
    case 'boolean':
    case 'undefined':
      return String(value);
    case 'symbol':
      return 'a symbol';
    case 'function':
      return 'a function';
    case 'object': {
      if (value === null) return 'null';
      const kind = kindOf(value);
      return kind === undefined ? describeObject(value) : describeView(value as TypedArray, kind);
    }
  }
}
