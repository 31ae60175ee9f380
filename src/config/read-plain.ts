/**
 * Reads a `config.pbtxt` that is written as nearly all are. The parser proper (`read.ts`) takes ten times as long, and
 * longer still to be loaded; it decides what a configuration is. This one reads only what it is sure of, to the same
 * values, and gives up on the rest: escapes in strings, floating-point, octal and long numbers, enum values by number,
 * and whatever is wrong.
 */

import { decodeConfig } from './decode.js';
import { enumNames, fieldsOf, rootMessage, type Field } from './fields.js';
import type { ParsedConfig } from './read.js';
import { textSource } from './text-source.js';

/**
 * Reads a configuration as `readModelConfig` does.
 *
 * @returns Undefined where this reader is not sure: the parser proper then has the say.
 */
export function readPlainConfig(source: {
  readonly file: string;
  readonly text: string | Uint8Array;
}): ParsedConfig | undefined {
  const decoded = decodeConfig(source.text);
  if ('problem' in decoded) return undefined;
  const { text } = decoded;
  if (text.length > longest) return undefined;
  const value = new PlainReader(tokensOf(text)).message(rootMessage, '');
  if (value === undefined) return undefined;
  return { ...textSource({ file: source.file, text }), value };
}

/** Tokens take more memory than text: what is longer is left to the parser proper. */
const longest = 64 * 1024;

/**
 * Comments, strings without escapes, words and numbers, marks, and what is none of these. In one call, because that is
 * compiled code from the first time on.
 */
const tokenPattern = /#[^\n]*|"[^"\\\n]*"|'[^'\\\n]*'|[\w.+-]+|[^ \t\n\v\f\r]/g;

function tokensOf(text: string): readonly string[] {
  const tokens = text.match(tokenPattern) ?? [];
  return text.includes('#') ? tokens.filter((token) => !token.startsWith('#')) : tokens;
}

/** A whole number that fits into any integer type; not -0. */
const numberPattern = /^(?:0|-?[1-9]\d{0,8})$/;

/** Values are never undefined: that stands for what this reader is not sure of. */
type Fields = Record<string, unknown>;

class PlainReader {
  readonly #tokens: readonly string[];
  #next = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  /** The fields of a message up to its closing mark, which is taken; '': the end of the text. */
  message(type: string, close: string): Fields | undefined {
    const fields = fieldsOf(type);
    const result: Fields = {};
    for (;;) {
      const token = this.#take();
      if (token === close) return result;
      const field = fields.get(token);
      if (field === undefined || !this.#field(field, fields, result)) return undefined;
      this.#skipSeparator();
    }
  }

  /** Reads what follows a field's name. */
  #field(field: Field, fields: ReadonlyMap<string, Field>, result: Fields): boolean {
    const { name, mapKey } = field;
    if (!this.#skip(':') && field.kind !== 'message' && mapKey === undefined) return false;
    if (field.repeated || mapKey !== undefined) {
      if (!this.#skip('[')) return this.#element(field, result);
      if (this.#skip(']')) {
        // An empty list is none; an empty map is one.
        if (mapKey !== undefined) result[name] ??= Object.create(null);
        return true;
      }
      do {
        if (!this.#element(field, result)) return false;
      } while (this.#skip(','));
      return this.#skip(']');
    }
    if (isWritten(field, fields, result)) return false;
    const value = this.#value(field);
    result[name] = value;
    return value !== undefined;
  }

  /** Reads one more element of a list, or one more entry of a map. */
  #element(field: Field, result: Fields): boolean {
    if (field.mapKey !== undefined) {
      // Nothing else puts anything there.
      return this.#entry(field, (result[field.name] ??= Object.create(null)) as Fields);
    }
    const value = this.#value(field);
    if (value === undefined) return false;
    ((result[field.name] ??= []) as unknown[]).push(value);
    return true;
  }

  #entry(field: Field, entries: Fields): boolean {
    if (field.mapKey !== 'string' || !this.#skip('{') || !this.#skip('key') || !this.#skip(':')) return false;
    const key = this.#string();
    this.#skipSeparator();
    if (key === undefined || !this.#skip('value')) return false;
    if (!this.#skip(':') && field.kind !== 'message') return false;
    const value = this.#value(field);
    if (value === undefined) return false;
    entries[key] = value;
    this.#skipSeparator();
    return this.#skip('}');
  }

  #value({ kind, type }: Field): unknown {
    if (kind === 'message') {
      const open = this.#take();
      return open === '{' ? this.message(type, '}') : open === '<' ? this.message(type, '>') : undefined;
    }
    if (type === 'string') return this.#string();
    const token = this.#take();
    if (kind === 'enum') return enumNames(type).includes(token) ? token : undefined;
    if (type === 'bool') return token === 'true' ? true : token === 'false' ? false : undefined;
    if (type === 'float' || type === 'double' || !numberPattern.test(token)) return undefined;
    return type.startsWith('u') && token.startsWith('-') ? undefined : Number(token);
  }

  /** Strings that follow each other are one. */
  #string(): string | undefined {
    let value: string | undefined;
    for (;;) {
      const token = this.#tokens[this.#next];
      const quoted = token?.startsWith('"') === true || token?.startsWith("'") === true;
      // A quote alone begins what is no plain string.
      if (token === undefined || !quoted || token.length < 2) return quoted ? undefined : value;
      this.#next++;
      const part = token.slice(1, -1);
      value = value === undefined ? part : value + part;
    }
  }

  /** One separator may follow a field; a second one is no field's name. */
  #skipSeparator(): void {
    if (!this.#skip(',')) this.#skip(';');
  }

  #skip(token: string): boolean {
    if (this.#tokens[this.#next] !== token) return false;
    this.#next++;
    return true;
  }

  /** The next token; '' at the end. */
  #take(): string {
    return this.#tokens[this.#next++] ?? '';
  }
}

/** Whether a singular field was there before, or another one of its oneof: both are faults. */
function isWritten({ name, oneof }: Field, fields: ReadonlyMap<string, Field>, result: Fields): boolean {
  if (Object.hasOwn(result, name)) return true;
  if (oneof === undefined) return false;
  for (const other of fields.values()) {
    if (other.oneof === oneof && Object.hasOwn(result, other.name)) return true;
  }
  return false;
}
