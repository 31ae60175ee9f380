/**
 * Changes fields in the text of a configuration. Everything else stays as it was written: comments, order, indentation. A
 * field that is written gets a new value in its place; one that is missing is added to its block, or at the end of the file.
 */

import { changeConfig, type ChangedValue, type FieldChange } from '../schema/change.js';
import { expandConfig } from '../schema/expand.js';
import { fieldsOf, rootMessage, type Field } from '../schema/fields.js';
import { pathSteps, type PathStep } from '../schema/paths.js';
import { TritonError } from '../../errors.js';
import { decodeConfig } from './decode.js';
import {
  elementOf,
  partOf,
  writtenIn,
  type Written,
  type WrittenField,
  type WrittenValue,
} from './positions.js';
import { printConfig, printField, scalarText } from './print.js';
import { readModelConfig } from './read.js';
import { Reader } from './reader.js';
import { isString } from './tokens.js';

/**
 * Changes fields in the text of a configuration.
 *
 * @param source - `file` is the path, for messages.
 * @returns The new text. Reading it gives what {@link changeConfig} gives.
 * @throws {@link TritonError} INVALID_ARG for an invalid text, UNSUPPORTED for a form in which a field cannot be changed.
 */
export function editConfig(
  source: { readonly file: string; readonly text: string },
  changes: readonly FieldChange[],
): string {
  const { file, text: given } = source;
  const before = readModelConfig(source).value;
  let text = given;
  for (const { path, value } of changes) text = new Edit(text).set(pathSteps(path), value);
  const wanted = printConfig(expandConfig(changeConfig(before, changes)));
  if (text !== given && printConfig(expandConfig(readModelConfig({ file, text }).value)) === wanted)
    return text;
  if (text === given && printConfig(expandConfig(before)) === wanted) return text;
  const paths = changes.map(({ path }) => path).join(', ');
  throw new TritonError('UNSUPPORTED', `${file} is written in a form in which ${paths} cannot be changed`);
}

/** A block of the text: its fields, and the token that opens it; none opens the file itself. */
interface Scope {
  readonly message: string;
  readonly fields: readonly WrittenField[];
  readonly open: number | undefined;
}

const closes: Readonly<Record<string, string>> = { '{': '}', '<': '>', '[': ']' };
const closing: ReadonlySet<string> = new Set(Object.values(closes));

/** One change of a text. */
class Edit {
  /** A byte order mark, which the reader leaves out. */
  readonly #mark: string;
  readonly #text: string;
  readonly #written: Written;
  readonly #lineEnd: string;

  constructor(text: string) {
    this.#mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
    this.#text = text.slice(this.#mark.length);
    this.#lineEnd = this.#text.includes('\r\n') ? '\r\n' : '\n';
    const decoded = decodeConfig(this.#text);
    const reader = new Reader(this.#text, 'text' in decoded && decoded.wellFormed);
    reader.config();
    this.#written = writtenIn(this.#text, reader.marks);
  }

  set(steps: readonly PathStep[], value: ChangedValue): string {
    let scope: Scope = { message: rootMessage, fields: this.#written.fields, open: undefined };
    for (let i = 0; i < steps.length; i++) {
      const step = steps[i];
      if (step?.kind !== 'field') throw new RangeError('a path names a field behind each element');
      const field = fieldsOf(scope.message).get(step.name);
      if (field === undefined) throw new RangeError(`the schema has no field ${scope.message}.${step.name}`);
      const written = scope.fields.filter(({ name }) => name === step.name);
      const element = steps[i + 1];
      const isElement = element !== undefined && element.kind !== 'field';
      const found = isElement
        ? elementOf(this.#written.tokens, written, element)
        : written.findLast(({ values }) => values.length > 0)?.values.at(-1);
      if (i === steps.length - 1 && written.length > 0) return this.#replace(field, written, found, value);
      if (found === undefined) return this.#insert(scope, field, nested(steps.slice(i + 1), value));
      if (isElement) i++;
      const inside = element?.kind === 'key' ? partOf(found, 'value') : found;
      if (inside?.fields === undefined) return this.#whole(this.#text);
      scope = { message: field.type, fields: inside.fields, open: inside.token };
    }
    return this.#whole(this.#text);
  }

  #replace(
    field: Field,
    written: readonly WrittenField[],
    found: WrittenValue | undefined,
    value: ChangedValue,
  ): string {
    if (!field.repeated) {
      if (found === undefined || typeof value === 'object') return this.#whole(this.#text);
      return this.#splice(found.token, this.#endOf(found.token), scalarText(field, value));
    }
    // A list may be written in several parts: the first one gets all values.
    let text = this.#text;
    for (const [i, part] of written.toReversed().entries()) {
      const isFirst = i === written.length - 1;
      const [from, to] = this.#range(part.token, this.#endOfStatement(part));
      const printed = isFirst ? printField(field, value).join(' ') : '';
      const list = isFirst && printed === '' ? `${field.name}: [ ]` : printed;
      text =
        text.slice(0, from) + this.#comments(part.token, this.#endOfStatement(part)) + list + text.slice(to);
    }
    return this.#whole(text);
  }

  /** The comments between tokens, each as a line before what replaces them. */
  #comments(first: number, end: number): string {
    const text = this.#text;
    const found: string[] = [];
    for (let token = first; token < end - 1; token++) {
      const [, after] = this.#range(token, token + 1);
      found.push(...(text.slice(after, this.#offset(token + 1)).match(/#[^\r\n]*/g) ?? []));
    }
    const indent = this.#indentOf(this.#offset(first));
    return found.map((comment) => `${comment}${this.#lineEnd}${indent}`).join('');
  }

  /** The indentation of the line that has an offset. */
  #indentOf(offset: number): string {
    return /^[ \t]*/.exec(this.#text.slice(this.#text.lastIndexOf('\n', offset - 1) + 1))?.[0] ?? '';
  }

  /** Adds a field to a block. */
  #insert({ fields, open }: Scope, field: Field, value: unknown): string {
    const lines = printField(field, value);
    if (lines.length === 0) return this.#whole(this.#text);
    const text = this.#text;
    const last = fields.at(-1);
    if (open === undefined) {
      const end = text === '' || text.endsWith('\n') ? '' : this.#lineEnd;
      return this.#whole(text + end + lines.map((line) => line + this.#lineEnd).join(''));
    }
    const oneLine = lines.map((line) => line.trim()).join(' ');
    const start = this.#offset(open);
    if (last === undefined) {
      const space = /\s/.test(text.charAt(start + 1)) ? '' : ' ';
      return this.#whole(`${text.slice(0, start + 1)} ${oneLine}${space}${text.slice(start + 1)}`);
    }
    const [begin, end] = this.#range(last.token, this.#endOfStatement(last));
    const lineBegin = text.lastIndexOf('\n', begin - 1) + 1;
    const rest = /^[ \t,;]*(?:#[^\r\n]*)?(?=\r?\n)/.exec(text.slice(end));
    if (lineBegin <= start || rest === null)
      return this.#whole(`${text.slice(0, end)} ${oneLine}${text.slice(end)}`);
    const indent = this.#indentOf(begin);
    const at = end + rest[0].length;
    const added = lines.map((line) => `${this.#lineEnd}${indent}${line}`).join('');
    return this.#whole(text.slice(0, at) + added + text.slice(at));
  }

  #whole(text: string): string {
    return this.#mark + text;
  }

  /** Replaces tokens, from the first up to the one before `end`. */
  #splice(first: number, end: number, by: string): string {
    const [from, to] = this.#range(first, end);
    return this.#whole(this.#text.slice(0, from) + by + this.#text.slice(to));
  }

  /** The offsets of tokens, from the first up to the one before `end`. */
  #range(first: number, end: number): readonly [number, number] {
    const last = end - 1;
    return [this.#offset(first), this.#offset(last) + (this.#written.tokens[last] ?? '').length];
  }

  #offset(token: number): number {
    return this.#written.offsets[token] ?? this.#text.length;
  }

  /** The token behind a statement: a name, perhaps a colon, and its value or list. */
  #endOfStatement({ token }: WrittenField): number {
    const { tokens } = this.#written;
    return this.#endOf(tokens[token + 1] === ':' ? token + 2 : token + 1);
  }

  /** The token behind a value: a block, a list, adjacent strings, or one word. */
  #endOf(first: number): number {
    const { tokens } = this.#written;
    let end = first;
    if (tokens[first] !== undefined && Object.hasOwn(closes, tokens[first])) {
      let depth = 0;
      do {
        const token = tokens[end] ?? '';
        if (Object.hasOwn(closes, token)) depth++;
        else if (closing.has(token)) depth--;
        end++;
      } while (depth > 0 && end < tokens.length);
      return end;
    }
    if (!isString(tokens[first] ?? '')) return first + 1;
    while (isString(tokens[end] ?? '')) end++;
    return end;
  }
}

/** The value of a field that contains the rest of a path. */
function nested(steps: readonly PathStep[], value: ChangedValue): unknown {
  const [step, ...rest] = steps;
  if (step === undefined) return value;
  const inside = nested(rest, value);
  if (step.kind === 'index') return [inside];
  return { [step.kind === 'field' ? step.name : step.key]: inside };
}
