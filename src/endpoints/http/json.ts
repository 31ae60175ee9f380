/**
 * Reads the JSON of requests with the fast parser, or with the exact one where that makes a difference. All errors
 * are INVALID_ARG.
 */

import { invalidArgument, type TritonError } from '../../errors.js';
import { mostParameters } from '../../most-parameters.js';
import type { ParameterValue, Parameters } from '../../protocol/parameters.js';
import { Fraction, parseExactly } from '../../protocol/json-exact.js';
import { scanJson, type JsonTraits } from './json-scan.js';
import { thrownText } from '../../thrown-text.js';

/** An object of a request. Only its own members count. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A JSON text of a request. */
export class JsonText {
  readonly #text: string;
  readonly #traits: JsonTraits;
  #exact = false;

  /** @throws {@link TritonError} INVALID_ARG beyond the limits of {@link scanJson}. */
  constructor(bytes: Buffer) {
    this.#traits = scanJson(bytes);
    this.#text = bytes.toString('utf8');
  }

  /** Whether the text has numbers such as 1.0, which the value from {@link parse} shows as integers. */
  get hidesFractions(): boolean {
    return this.#traits.fractions && !this.#exact;
  }

  /** Whether such numbers may be dims of a shape. */
  get hidesShapeFractions(): boolean {
    return this.#traits.shapeFractions && !this.#exact;
  }

  /**
   * The value.
   *
   * @throws {@link TritonError} INVALID_ARG for text that is not JSON.
   */
  parse(): unknown {
    if (this.#text === '') throw invalidArgument('failed to parse the JSON: the request has no body');
    const { longNumbers, notFinite } = this.#traits;
    if (longNumbers || notFinite) return this.parseExactly();
    try {
      return JSON.parse(this.#text);
    } catch (error) {
      const why = thrownText(error);
      throw invalidArgument(`failed to parse the JSON: ${why}`);
    }
  }

  /** The value, with every number exactly as it was written. */
  parseExactly(): unknown {
    this.#exact = true;
    return parseExactly(this.#text);
  }
}

/** The error for a value of the wrong type. */
export function wrongType(path: string, expected: string, value: unknown): TritonError {
  return invalidArgument(`expected ${expected} for '${path}' but received ${show(value)}`);
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value instanceof Fraction) return `${value.value} with a point or an exponent`;
  if (typeof value === 'string') return `a string of ${value.length} characters`;
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint'
    ? String(value)
    : 'null';
}

/** Checks that a value is an object. */
export function readObject(path: string, value: unknown): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Fraction)
    throw wrongType(path, 'an object', value);
  return value as JsonObject;
}

/** An own member of an object; undefined if it is absent or `null`, which many programs write for absent. */
export function member(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined;
}

/** Checks that a value is a string. */
export function readString(path: string, value: unknown): string {
  if (typeof value !== 'string') throw wrongType(path, 'a string', value);
  return value;
}

/** Checks that a value is an array. */
export function readArray(path: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw wrongType(path, 'an array', value);
  return value;
}

/** Checks that a value is true or false. */
export function readFlag(path: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw wrongType(path, 'true or false', value);
  return value;
}

/** Checks that a value is an unsigned integer that a number holds exactly. */
export function readCount(path: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw wrongType(path, 'an unsigned integer', value);
  return value;
}

/**
 * A parameter's value.
 *
 * @throws {@link TritonError} INVALID_ARG, as in Triton, for arrays, objects and null.
 */
export function readParameter(path: string, value: unknown): ParameterValue {
  if (value instanceof Fraction) return value.value;
  if (typeof value === 'string' || typeof value === 'number') return value;
  if (typeof value === 'bigint' || typeof value === 'boolean') return value;
  throw invalidArgument(
    `expected a string, a number or a boolean for parameter '${path}' but received ${show(value)}`,
  );
}

const none: Parameters = new Map();

/** An object of parameters, which may be missing. */
export function readParameterObject(path: string, value: unknown): Parameters {
  if (value === undefined) return none;
  const entries = Object.entries(readObject(path, value));
  if (entries.length > mostParameters) {
    throw invalidArgument(
      `${path}: expected at most ${mostParameters} parameters but received ${entries.length}`,
    );
  }
  return new Map(entries.map(([name, one]) => [name, readParameter(name, one)]));
}
