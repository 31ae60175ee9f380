/**
 * The reader of protobuf's text format: one pass over the tokens, guided by the schema. It records marks for
 * all positions. After a wrong value it continues, so that all faults are reported together.
 */

import { didYouMean } from '../../suggest.js';
import { entryFields, fieldsOf, rootMessage, typeText, type Field } from '../schema/fields.js';
import { depthOf, EnoughFaults, Faults, pathOf, type Block } from './faults.js';
import { closeMark, fieldMark, firstOf, openMark, positionIn, scalarMark } from './positions.js';
import type { Problem } from './problems.js';
import { ScalarReader, wrong } from './scalar-reader.js';
import { scalarOf } from './scalars.js';
import { endOfText, isString, SyntaxFault } from './tokens.js';
import { unknownField } from './unknown-field.js';

/** Fields, or the parts of an entry, by name. */
type Fields = Record<string, unknown>;

/** The message in whose maps a duplicate key is an error. */
const ensembleStep = 'ModelEnsembling.Step';
/** The maximum number of notes. */
const mostNotes = 50;

/** See the head of this file. */
export class Reader extends ScalarReader {
  /** Marks of all fields and values, in the order of the text, for `Positions`. */
  readonly marks: number[] = [];
  /** Notes about written parts that have no effect. */
  readonly notes: string[] = [];
  readonly #faults: Faults = new Faults();
  /** For each map, the tokens at which the entries of its keys begin. */
  readonly #entries: Map<Fields, Map<string, number>> = new Map();

  /** Reads the whole text. If there are {@link problems}, the result is incomplete. */
  config(): Fields {
    const result: Fields = {};
    try {
      this.#fields(block(rootMessage, endOfText, 0, undefined, undefined, -1), result);
    } catch (error) {
      if (!(error instanceof SyntaxFault || error instanceof EnoughFaults)) throw error;
      if (error instanceof SyntaxFault) this.#addLast(error);
    }
    return result;
  }

  /** The problems, in the order of the text. */
  problems(): Problem[] {
    return this.#faults.problems(this.text, (token) => this.offsetOf(token));
  }

  #addLast({ at, message }: SyntaxFault): void {
    try {
      this.#faults.add(undefined, '', -1, at, () => message);
    } catch (error) {
      // The fault is counted; there is nothing left to stop.
      if (!(error instanceof EnoughFaults)) throw error;
    }
  }

  /** Reads the fields of a message, including its closing mark. */
  #fields(inside: Block, result: Fields): Fields {
    const { tokens, marks } = this;
    const { close } = inside;
    const message = inside.message ?? '';
    const fields = fieldsOf(message);
    for (let behind = false; ;) {
      const { at } = this;
      const name = tokens[at] ?? endOfText;
      const field = fields.get(name);
      if (field !== undefined) {
        this.at++;
        marks.push(at * 4 + fieldMark);
        if (field.mapKey !== undefined) this.#map(inside, field, result);
        else if (field.repeated) this.#list(inside, field, result, at);
        else this.#single(inside, field, result, at);
        behind = true;
      } else if (name === close) {
        if (close !== endOfText) {
          this.at++;
          marks.push(at * 4 + closeMark);
        }
        return result;
      } else if (this.separator(behind)) {
        behind = false;
      } else {
        this.checkName(name, inside);
        this.#faults.add(inside, name, -1, at, () => unknownField(name, message));
        this.skipField(name, depthOf(inside));
        behind = true;
      }
    }
  }

  #single(inside: Block, field: Field, result: Fields, at: number): void {
    const { name, rivals } = field;
    if (result[name] !== undefined || rivals.length > 0) this.#checkOnce(inside, field, result, at);
    const token = this.#colon(inside, field, at);
    if (token !== '[') {
      result[name] = this.#value(inside, field, -1, token);
      return;
    }
    result[name] = wrong;
    // Faults in an entry's parts are reported for the entry, which its key identifies.
    const isPart = inside.message === undefined;
    const text = (): string => `${isPart ? `${name} ` : ''}takes one ${field.type}, not a list`;
    this.#faults.add(inside, isPart ? '' : name, -1, at, text);
    this.list(name, (value) => void this.#value(inside, field, -1, value));
  }

  #list(inside: Block, field: Field, result: Fields, at: number): void {
    const { tokens } = this;
    const { name } = field;
    const token = this.#colon(inside, field, at);
    const many = token === '[';
    if (many && tokens[this.at + 1] === ']') {
      // An empty list counts as absent.
      this.at += 2;
      return;
    }
    const list = (result[name] ??= []) as unknown[];
    if (!many) list.push(this.#value(inside, field, list.length, token));
    else this.list(name, (value) => list.push(this.#value(inside, field, list.length, value)));
  }

  #map(inside: Block, field: Field, result: Fields): void {
    // Only this method writes to that field. An empty map counts as written.
    const entries = (result[field.name] ??= Object.create(null)) as Fields;
    const read = (token: string): void => {
      this.#entry(inside, field, entries, token);
    };
    const token = this.skip(':');
    if (token === '[') this.list(field.name, read);
    else read(token);
  }

  /** Reads an entry of a map, which is a message with a key and a value. */
  #entry(inside: Block, field: Field, entries: Fields, open: string): void {
    const { at } = this;
    const close = closing(open);
    if (close === undefined) {
      const shown = this.shown(field.name, open);
      this.#faults.add(inside, field.name, -1, at, () => `expected { key: … value … } but found ${shown}`);
      return;
    }
    const parts = entryFields(field);
    const entry = block(undefined, close, at, inside, field, -1);
    const result: Fields = {};
    this.marks.push(this.at++ * 4 + openMark);
    for (let behind = false; this.next() !== close;) {
      if (this.separator(behind)) {
        behind = false;
        continue;
      }
      behind = true;
      const name = this.next();
      const part = name === 'key' ? parts.key : name === 'value' ? parts.value : undefined;
      if (part === undefined) {
        this.checkName(name, entry);
        this.#faults.add(entry, '', -1, this.at, () => unknownPart(name));
        this.skipField(name, depthOf(entry));
        continue;
      }
      const at = this.at++;
      this.marks.push(at * 4 + fieldMark);
      this.#single(entry, part, result, at);
      if (part === parts.key) entry.key = keyOf(result['key']) ?? this.#rawText(at);
    }
    this.marks.push(this.at++ * 4 + closeMark);
    const key = keyOf(result['key']) ?? String(parts.key.initial);
    this.#checkKey(entry, entries, key);
    // A value that was not written has the default of its type.
    entries[key] = 'value' in result ? result['value'] : (parts.value.initial ?? {});
  }

  /** Reports a key that its map already has. As in protobuf, the last one counts, which hides a mistake. */
  #checkKey(entry: Block, entries: Fields, key: string): void {
    const known = this.#entries.get(entries) ?? new Map<string, number>();
    this.#entries.set(entries, known);
    const first = known.get(key);
    known.set(key, first ?? entry.at);
    if (first === undefined) return;
    const lineOf = (token: number): number => positionIn(this.text, this.offsetOf(token)).line;
    if (entry.outer?.message === ensembleStep) {
      // The model's tensor would be mapped to only one of the two tensors.
      const text = (): string =>
        `the key ${JSON.stringify(key)} is written twice (first on line ${lineOf(first)}); a tensor of a step's model is mapped once`;
      this.#faults.add({ ...entry, key }, '', -1, entry.at, text);
    } else if (this.notes.length < mostNotes) {
      this.notes.push(
        `${pathOf({ ...entry, key })}: written twice (lines ${lineOf(first)} and ${lineOf(entry.at)}); the last one counts`,
      );
    }
  }

  /** Reads a value that begins with the given token. Returns {@link wrong} for a wrong value. */
  #value(inside: Block, field: Field, index: number, token: string): unknown {
    const { at } = this;
    const { kind, type } = field;
    if (kind === 'message') {
      const close = closing(token);
      if (close === undefined) return this.#otherValue(inside, field, index, token);
      this.at++;
      this.marks.push(at * 4 + openMark);
      return this.#fields(block(type, close, at, inside, field, index), {});
    }
    const value = type === 'string' ? this.plainString(token) : scalarOf(field, token);
    if (typeof value === 'object') return this.#otherValue(inside, field, index, token);
    this.at++;
    this.marks.push(at * 4 + scalarMark);
    return value;
  }

  /** Reads a value in a rare form, or a wrong value. */
  #otherValue(inside: Block, field: Field, index: number, token: string): unknown {
    const { at } = this;
    const { kind, type } = field;
    let fault: string;
    if (kind === 'message') {
      fault = `expected a block { … } but found ${this.shown(field.name, token)}`;
    } else if (closing(token) !== undefined) {
      fault = `expected ${field.repeated ? type : typeText(field)} but found a block { … }`;
      this.skipBlock(token, depthOf(inside));
    } else {
      this.marks.push(at * 4 + scalarMark);
      const value = this.scalar(field, token);
      // Scalars are not objects; faults are.
      if (typeof value !== 'object') return value;
      ({ fault } = value);
    }
    // Faults in an entry's parts are reported for the entry, which its key identifies.
    this.#faults.add(inside, inside.message === undefined ? '' : field.name, index, at, () => fault);
    return wrong;
  }

  /** Takes the colon, which is required before scalars. Returns the token after it. */
  #colon(inside: Block, { kind, name }: Field, at: number): string {
    if (this.tokens[this.at] === ':') {
      this.at++;
    } else if (kind !== 'message') {
      const isPart = inside.message === undefined;
      const text = (): string => `a colon is missing after ${isPart ? name : 'the name'}`;
      this.#faults.add(inside, isPart ? '' : name, -1, at, text);
    }
    return this.tokens[this.at] ?? endOfText;
  }

  /** Reports a singular field that was already written, or whose oneof already has another member. */
  #checkOnce(inside: Block, { name, rivals }: Field, result: Fields, at: number): void {
    let rival = result[name] !== undefined ? name : undefined;
    for (let i = 0; rival === undefined && i < rivals.length; i++) {
      const other = rivals[i] ?? '';
      if (result[other] !== undefined) rival = other;
    }
    if (rival === undefined) return;
    const isPart = inside.message === undefined;
    const text = (): string => {
      const { line } = positionIn(this.text, this.offsetOf(firstOf(rival, this.marks, this.tokens)));
      return rival === name
        ? `${isPart ? `${name} is ` : ''}written twice (first on line ${line}); it takes one value`
        : `only one of ${rival} (line ${line}) and ${name} can be set`;
    };
    this.#faults.add(inside, isPart ? '' : name, -1, at, text);
  }

  /** The raw text of an invalid key. */
  #rawText(at: number): string {
    const strings = this.tokens.slice(at + 1, this.at).filter(isString);
    return strings.map((token) => token.slice(1, -1)).join('');
  }
}

/** The message about an unknown part of an entry. */
function unknownPart(name: string): string {
  const near = didYouMean(name, ['key', 'value']);
  return `unknown field ${name.slice(0, 100)}: an entry has a key and a value${near}`;
}

/** The key of an entry, which is a string or a number; undefined if it is missing or wrong. */
function keyOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function block(
  message: string | undefined,
  close: string,
  at: number,
  outer: Block | undefined,
  field: Field | undefined,
  index: number,
): Block {
  return { message, close, at, outer, field, index, key: '' };
}

/** The closing mark for a token that begins a block; undefined for other tokens. */
function closing(token: string): string | undefined {
  return token === '{' ? '}' : token === '<' ? '>' : undefined;
}
