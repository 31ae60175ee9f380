/**
 * Parses JSON without loss: large integers come as bigints, and numbers with a point or an exponent can be told from
 * integers. NaN, Infinity and -Infinity are numbers, as Triton's clients may write them. JSON.parse does none of this, and is
 * several times as fast: json.ts chooses.
 */

import { TritonError } from '../../errors.js';

/** A number that was written with a point or an exponent. */
export class Fraction {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

const number = /-?(?:Infinity|0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
/** Of an integer that is read as one. */
const mostDigits = 40;

const space = /[ \t\n\r]*/y;

const literals = [
  ['true', true],
  ['false', false],
  ['null', null],
  ['NaN', NaN],
  ['Infinity', Infinity],
] as const;

/** Reads one text. It recurses as deep as scanJson lets texts be. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readAll(): unknown {
    const value = this.#value();
    this.#skip();
    if (this.#at < this.#text.length) throw this.#unexpected();
    return value;
  }

  #value(): unknown {
    this.#skip();
    const character = this.#text[this.#at];
    if (character === '{') return this.#object();
    if (character === '[') return this.#array();
    if (character === '"') return this.#string();
    for (const [word, value] of literals) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    return this.#number();
  }

  #number(): unknown {
    const match = this.#match(number);
    if (match === undefined) throw this.#unexpected();
    const [text, fraction, exponent] = match;
    if (fraction !== undefined || exponent !== undefined) return new Fraction(Number(text));
    const value = Number(text);
    if (Number.isSafeInteger(value) || !Number.isFinite(value)) return value;
    // No tensor takes longer ones as integers, and to read a million digits takes a while.
    return text.length > mostDigits ? new Fraction(value) : BigInt(text);
  }

  #string(): string {
    const start = this.#at;
    if (this.#text[start] !== '"') throw this.#unexpected();
    let end = this.#text.indexOf('"', start + 1);
    while (end > 0 && this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1);
    if (end < 0) throw new TritonError('INTERNAL', 'failed to parse the JSON: a string has no end');
    this.#at = end + 1;
    try {
      // Only a string comes of a text in quotes.
      return JSON.parse(this.#text.slice(start, end + 1)) as string;
    } catch {
      this.#at = start;
      throw this.#unexpected();
    }
  }

  /** Whether the quote there has an odd number of backslashes before it. */
  #isEscaped(quote: number): boolean {
    let before = quote;
    while (this.#text[before - 1] === '\\') before--;
    return (quote - before) % 2 === 1;
  }

  #array(): unknown[] {
    const list: unknown[] = [];
    this.#at++;
    if (this.#next(']')) return list;
    for (;;) {
      list.push(this.#value());
      if (this.#next(']')) return list;
      this.#expect(',');
    }
  }

  #object(): object {
    const members: [string, unknown][] = [];
    this.#at++;
    if (this.#next('}')) return {};
    for (;;) {
      this.#skip();
      const name = this.#string();
      this.#expect(':');
      members.push([name, this.#value()]);
      // As with JSON.parse the last member of a name counts, and `__proto__` is a name like others.
      if (this.#next('}')) return Object.fromEntries(members);
      this.#expect(',');
    }
  }

  /** Whether this character is next, which is read then. */
  #next(character: string): boolean {
    this.#skip();
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #expect(character: string): void {
    if (!this.#next(character)) throw this.#unexpected();
  }

  #skip(): void {
    this.#match(space);
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#at = pattern.lastIndex;
    return match;
  }

  #unexpected(): TritonError {
    const found = this.#text[this.#at];
    const what = found === undefined ? 'its end' : `'${found}'`;
    return new TritonError('INTERNAL', `failed to parse the JSON: unexpected ${what} at ${this.#at}`);
  }
}

/**
 * Parses a text; see the head of this file.
 *
 * @throws {@link TritonError} INTERNAL, as in Triton, for what is no JSON.
 */
export function parseExactly(text: string): unknown {
  return new Reader(text).readAll();
}
