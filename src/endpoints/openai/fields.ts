/** Reads the fields of a request's body. All errors are INVALID_ARG. */

import { invalidArgument } from '../../errors.js';
import { printableLine } from '../../printable.js';
import { didYouMean } from '../../suggest.js';
import { thrownText } from '../../thrown-text.js';
import { readFlag, readObject, wrongType, type JsonObject } from '../http/json.js';
import { scanJson } from '../http/json-scan.js';

/** The longest name of a field in a message. */
const longestName = 64;

/** Checks a field's value and returns it. */
export type FieldReader<T> = (path: string, value: unknown) => T;

/** The readers of all fields of a request. */
export type FieldReaders<T> = { readonly [K in keyof T]-?: FieldReader<Exclude<T[K], undefined>> };

/**
 * The object in a body.
 *
 * @throws {@link TritonError} INVALID_ARG for a body that is not the JSON of an object.
 */
export function readBody(body: Buffer): JsonObject {
  // Bounds the depth and the number of parts.
  scanJson(body);
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw invalidArgument(`failed to parse the JSON: ${thrownText(error)}`);
  }
  return readObject('request', value);
}

/**
 * Reads an object with known fields. `null` counts as absent.
 *
 * @throws {@link TritonError} INVALID_ARG for an unknown field, and for a wrong value.
 */
export function readFields<T>(object: JsonObject, readers: FieldReaders<T>): Partial<T> {
  const known = Object.keys(readers);
  const read: Partial<T> = {};
  for (const [name, value] of Object.entries(object)) {
    if (!Object.hasOwn(readers, name)) {
      const shown = printableLine(name.slice(0, longestName));
      throw invalidArgument(`unknown field '${shown}'${didYouMean(shown, known)}`);
    }
    if (value === null) continue;
    // The name is a key of `readers`, so it is one of T.
    const key = name as keyof T;
    read[key] = readers[key](name, value);
  }
  return read;
}

/** Reads true or false. */
export const flag: FieldReader<boolean> = readFlag;

/** Reads a text. */
export const text: FieldReader<string> = (path, value) => {
  if (typeof value === 'string') return value;
  throw wrongType(path, 'a string', value);
};

/** Reads an integer from `least` to `most`. */
export function integer(least: number, most: number): FieldReader<number> {
  return (path, value) => {
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
    throw wrongType(path, `an integer from ${least} to ${most}`, value);
  };
}

/** Reads a number from `least` to `most`. */
export function number(least: number, most: number): FieldReader<number> {
  return (path, value) => {
    if (typeof value === 'number' && value >= least && value <= most) return value;
    throw wrongType(path, `a number from ${least} to ${most}`, value);
  };
}

/** Reads one of several texts. */
export function choice<T extends string>(...all: readonly T[]): FieldReader<T> {
  return (path, value) => {
    const found = all.find((one) => one === value);
    if (found !== undefined) return found;
    throw wrongType(path, `one of ${all.map((one) => `'${one}'`).join(', ')}`, value);
  };
}

/** Reads an array of at least `least` and at most `most` elements. */
export function list<T>(least: number, most: number, element: FieldReader<T>): FieldReader<readonly T[]> {
  return (path, value) => {
    if (!Array.isArray(value)) throw wrongType(path, 'an array', value);
    if (value.length < least || value.length > most)
      throw invalidArgument(
        `expected ${least} to ${most} elements for '${path}' but received ${value.length}`,
      );
    return value.map((one: unknown, i) => element(`${path}[${i}]`, one));
  };
}

/** Reads an object, whose members are not checked. */
export const object: FieldReader<JsonObject> = readObject;
