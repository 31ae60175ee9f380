/** Finds the lines and columns of fields and values, from the marks that the reader recorded. */

import { pathSteps, type PathStep } from '../schema/paths.js';
import type { Position } from './problems.js';
import { isString, offsetsOf, textOfStrings, tokensOf } from './tokens.js';

/**
 * The kinds of marks. A mark is one number: four times the token's number, plus its kind. Each field has
 * several marks, so they must be small.
 */
export const fieldMark = 0;
export const scalarMark = 1;
export const openMark = 2;
export const closeMark = 3;

/** Finds lines and columns on demand, because only errors need them. */
export class Positions {
  readonly #text: string;
  readonly #marks: readonly number[];
  #written: Written | undefined;

  constructor(text: string, marks: readonly number[]) {
    this.#text = text;
    this.#marks = marks;
  }

  /**
   * The position of the field or value at a path. If it was not written, the position of the nearest enclosing
   * part that was; 0 and 0 if that is the whole file.
   *
   * @param path - A path in the format of `paths.ts`.
   */
  of(path: string): Position {
    this.#written ??= writtenIn(this.#text, this.#marks);
    const token = find(this.#written, pathSteps(path));
    return token === undefined
      ? { line: 0, column: 0 }
      : positionIn(this.#text, this.#written.offsets[token]);
  }
}

/** The line and column of an offset. */
export function positionIn(text: string, offset = 0): Position {
  let line = 1;
  let start = 0;
  for (let end = text.indexOf('\n'); end >= 0 && end < offset; end = text.indexOf('\n', start)) {
    line++;
    start = end + 1;
  }
  return { line, column: offset - start + 1 };
}

/** A text with its tokens and fields. */
export interface Written {
  readonly tokens: readonly string[];
  readonly offsets: readonly number[];
  readonly fields: readonly WrittenField[];
}

/** A field of a text, with its values. */
export interface WrittenField {
  readonly name: string;
  readonly token: number;
  readonly values: WrittenValue[];
}

/** A value of a text. */
export interface WrittenValue {
  readonly token: number;
  /** The fields of a block; undefined for a scalar. */
  readonly fields: WrittenField[] | undefined;
}

/** The fields of a text, by the marks that its reader recorded. */
export function writtenIn(text: string, marks: readonly number[]): Written {
  const tokens = tokensOf(text);
  const whole: WrittenField[] = [];
  const open: WrittenField[][] = [whole];
  for (const mark of marks) {
    const kind = mark % 4;
    const token = (mark - kind) / 4;
    const fields = open.at(-1) ?? whole;
    if (kind === closeMark) {
      open.pop();
    } else if (kind === fieldMark) {
      fields.push({ name: tokens[token] ?? '', token, values: [] });
    } else {
      const inside: WrittenField[] | undefined = kind === openMark ? [] : undefined;
      fields.at(-1)?.values.push({ token, fields: inside });
      if (inside !== undefined) open.push(inside);
    }
  }
  return { tokens, offsets: offsetsOf(text), fields: whole };
}

function find({ tokens, fields }: Written, steps: readonly PathStep[]): number | undefined {
  let token: number | undefined;
  let scope: readonly WrittenField[] | undefined = fields;
  for (let i = 0; i < steps.length && scope !== undefined; i++) {
    const step = steps[i];
    if (step?.kind !== 'field') return token;
    const written: WrittenField[] = scope.filter(({ name }) => name === step.name);
    const last = written.at(-1);
    if (last === undefined) return token;
    token = last.token;
    const element = steps[i + 1];
    let value = written.findLast(({ values }) => values.length > 0)?.values.at(-1);
    if (element !== undefined && element.kind !== 'field') {
      i++;
      value = elementOf(tokens, written, element);
      if (value === undefined) return token;
      token = value.token;
      if (element.kind === 'key') value = partOf(value, 'value');
    }
    scope = value?.fields;
  }
  return token;
}

/**
 * An element of a list or map. A list may be written in several parts. Nothing is copied, because lists can
 * be long and are searched often.
 */
export function elementOf(
  tokens: readonly string[],
  written: readonly WrittenField[],
  step: PathStep,
): WrittenValue | undefined {
  if (step.kind === 'key') {
    for (const { values } of written.toReversed()) {
      const found = values.findLast((entry) => keyOf(tokens, entry) === step.key);
      if (found !== undefined) return found;
    }
  } else if (step.kind === 'index') {
    let left = step.index;
    for (const { values } of written) {
      if (left < values.length) return values[left];
      left -= values.length;
    }
  }
  return undefined;
}

/** The key of a map's entry; '' if none is written. */
function keyOf(tokens: readonly string[], entry: WrittenValue): string {
  const key = partOf(entry, 'key');
  if (key === undefined) return '';
  let end = key.token;
  while (isString(tokens[end] ?? '')) end++;
  if (end === key.token) return tokens[end] ?? '';
  const said = textOfStrings(tokens.slice(key.token, end), false);
  return typeof said === 'string' ? said : '';
}

/** The key or the value of a map's entry. */
export function partOf(entry: WrittenValue, name: 'key' | 'value'): WrittenValue | undefined {
  return entry.fields?.findLast((field) => field.name === name)?.values.at(-1);
}

/**
 * The token at which a field of the current block was first written.
 *
 * @param marks - The marks so far. The last one belongs to the field that is being read.
 */
export function firstOf(name: string, marks: readonly number[], tokens: readonly string[]): number {
  let found = 0;
  let depth = 0;
  // Go backwards to the start of the block.
  for (let i = marks.length - 2; i >= 0 && depth >= 0; i--) {
    const mark = marks[i] ?? 0;
    const kind = mark % 4;
    const at = (mark - kind) / 4;
    if (kind === closeMark) depth++;
    else if (kind === openMark) depth--;
    else if (kind === fieldMark && depth === 0 && tokens[at] === name) found = at;
  }
  return found;
}
