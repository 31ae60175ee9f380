/** Reads a configuration from its JSON form: the `config` of a load request, or a caller's object. */

import { maxConfigBytes } from './decode.js';
import { unknownField } from './unknown-field.js';
import {
  enumNames,
  jsonFieldsOf,
  integerRange,
  rootMessage,
  typeText,
  type Field,
} from '../schema/fields.js';
import { fieldPath, indexPath, keyPath } from '../schema/paths.js';
import { problemsError, reportInto, throwProblems, unplaced, type Problem, type Report } from './problems.js';
import { deepest, writtenTwice } from './json-duplicates.js';
import type { ParsedConfig } from './read.js';
import { enumFault, tooLarge } from './scalars.js';
import { isKeyed, keyless } from '../../keyless.js';
import { thrownText } from '../../thrown-text.js';

/**
 * Reads a configuration in Triton's JSON form. Field names are Triton's, or protobuf's in camelCase. Enum
 * values may be names in any case, or numbers. Integers may be strings. `null` counts as absent.
 *
 * @param source - `file` names the source in messages, such as `config of loadModel('m')`; `value` is JSON
 *   text, or the parsed value.
 * @throws {@link TritonError} INVALID_ARG; it lists every unknown field and wrong value with its path.
 */
export function readModelConfigJson(source: {
  readonly file: string;
  readonly value: unknown;
}): ParsedConfig {
  const place = unplaced(source.file);
  const problems: Problem[] = [];
  const report = reportInto(problems);
  const value = typeof source.value === 'string' ? parse(source.value, report) : source.value;
  throwProblems(problems, place, undefined);
  const notes = typeof source.value === 'string' ? notesOf(source.value, report) : [];
  if (!isKeyed(value)) {
    const text = `expected a model configuration (an object) but found ${shown(value)}`;
    throw problemsError([{ code: 'INVALID_ARG', path: '', text }], place, undefined);
  }
  const config = readMessage(rootMessage, value, '', report);
  throwProblems(problems, place, undefined);
  return { ...place, value: config, notes };
}

/** The maximum number of notes about duplicate members. */
const mostNotes = 50;

/** Notes about duplicate members in a text. As in protobuf, the last one counts, which hides a mistake. */
function notesOf(text: string, report: Report): string[] {
  const notes: string[] = [];
  const found = writtenTwice(text, mostNotes);
  if (!found) report('', `arrays and objects are nested deeper than ${deepest} levels`);
  for (const { path, isStepTensor, firstLine, line } of found ?? []) {
    // The model's tensor would be mapped to only one of the two tensors.
    if (isStepTensor) {
      report(
        path,
        `the key is written twice (lines ${firstLine} and ${line}); a tensor of a step's model is mapped once`,
      );
    } else notes.push(`${path}: written twice (lines ${firstLine} and ${line}); the last one counts`);
  }
  return notes;
}

function parse(text: string, report: Report): unknown {
  if (text.length > maxConfigBytes) {
    const limit = `the size limit of a configuration is ${maxConfigBytes}`;
    return report('', `the text has ${text.length} characters; ${limit}`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = thrownText(error);
    const advice = /^\s*[{[]/.test(text)
      ? ''
      : '. A configuration here is JSON, or an object; the text format is for config.pbtxt files';
    return report('', `the text is not JSON: ${reason}${advice}`);
  }
}

function readMessage(message: string, value: object, path: string, report: Report): Record<string, unknown> {
  const fields = jsonFieldsOf(message);
  const result: Record<string, unknown> = {};
  const members = new Map<string, string>();
  for (const [name, one] of Object.entries(value) as [string, unknown][]) {
    const at = fieldPath(path, name.slice(0, 100));
    const field = fields.get(name);
    if (field === undefined) {
      report(at, unknownField(name, message));
      continue;
    }
    if (one === null || one === undefined) continue;
    if (result[field.name] !== undefined) report(at, `${field.name} and its other name are both written`);
    if (field.oneof !== undefined) {
      const other = members.get(field.oneof);
      if (other !== undefined) report(at, `only one of ${other} and ${name} can be set`);
      members.set(field.oneof, name);
    }
    result[field.name] = readField(field, one, at, report);
  }
  return result;
}

function readField(field: Field, value: unknown, path: string, report: Report): unknown {
  if (field.repeated) {
    if (!Array.isArray(value)) {
      return report(path, `expected an array (${typeText(field)}) but found ${shown(value)}`);
    }
    // A sparse array may claim any length. No text within the size limit has as many entries.
    if (!(value.length <= maxConfigBytes))
      return report(path, `expected at most ${maxConfigBytes} entries but found ${String(value.length)}`);
    return value.map((one: unknown, index) => readOne(field, one, indexPath(path, index), report));
  }
  if (field.mapKey === undefined) return readOne(field, value, path, report);
  if (!isKeyed(value)) {
    return report(path, `expected an object (${typeText(field)}) but found ${shown(value)}`);
  }
  const entries = Object.create(null) as Record<string, unknown>;
  for (const [key, one] of Object.entries(value) as [string, unknown][]) {
    const at = keyPath(path, key);
    const isNumber = /^(?:0|[1-9]\d*)$/.test(key) && Number.isSafeInteger(Number(key));
    if (field.mapKey === 'string' || isNumber) entries[key] = readOne(field, one, at, report);
    else report(at, 'expected a whole number as key');
  }
  return entries;
}

function readOne(field: Field, value: unknown, path: string, report: Report): unknown {
  const wrong = (expected: string): null => report(path, `expected ${expected} but found ${shown(value)}`);
  if (field.kind === 'message') {
    return isKeyed(value) ? readMessage(field.type, value, path, report) : wrong(`an object (${field.type})`);
  }
  if (field.kind === 'enum') {
    if (typeof value !== 'string' && typeof value !== 'number') return wrong(`the name of a ${field.type}`);
    const names = enumNames(field.type);
    const name = typeof value === 'number' ? names[value] : names.find((one) => one === value.toUpperCase());
    return name ?? report(path, enumFault(field.type, String(value)));
  }
  switch (field.type) {
    case 'string':
      if (typeof value !== 'string') return wrong('a string');
      return /\p{Surrogate}/u.test(value) ? wrong('a string without lone surrogates') : value;
    case 'bool':
      return typeof value === 'boolean' ? value : wrong('true or false');
    case 'float':
    case 'double':
      return floatOf(value) ?? wrong('a number');
    default: {
      const exact = integerOf(value);
      if (exact === undefined) return wrong('an integer');
      const { low, high } = integerRange(field.type);
      if (exact < low || exact > high) return wrong(`an integer from ${low} to ${high}`);
      return Number.isSafeInteger(Number(exact)) ? Number(exact) : report(path, tooLarge(exact));
    }
  }
}

function floatOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return undefined;
  const isNumber = /^(?:-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|NaN|-?Infinity)$/.test(value);
  return isNumber ? Number(value) : undefined;
}

function integerOf(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : undefined;
  // No 64-bit integer is longer, and converting much longer texts is slow.
  return typeof value === 'string' && /^-?\d{1,40}$/.test(value) ? BigInt(value) : undefined;
}

/** A value as text for messages. */
function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? 'an array' : (keyless(value) ?? 'an object');
  return typeof value === 'function' || typeof value === 'symbol' ? `a ${typeof value}` : String(value);
}
