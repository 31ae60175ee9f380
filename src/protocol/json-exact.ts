/**
 * Parses JSON without loss: large integers become bigints, and numbers with a point or an exponent become
 * {@link Fraction}. NaN, Infinity and -Infinity are accepted, because Triton's clients may write them. JSON.parse
 * does none of this, but is several times as fast, so json.ts chooses between the two.
 */

import { invalidArgument, type TritonError } from '../errors.js';

/** A number that was written with a point or an exponent. */
export class Fraction {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** The most digits of a number that is read as an integer. */
const mostDigits = 40;

const quote = 0x22;
const minus = 0x2d;
const point = 0x2e;
const zero = 0x30;

/** Reads one text. It recurses; scanJson has bounded the depth. */
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
    switch (this.#text.charAt(this.#at)) {
      case '{':
        return this.#object();
      case '[':
        return this.#array();
      case '"':
        return this.#string();
      case 't':
        return this.#word('true', true);
      case 'f':
        return this.#word('false', false);
      case 'n':
        return this.#word('null', null);
      case 'N':
        return this.#word('NaN', NaN);
      case 'I':
        return this.#word('Infinity', Infinity);
      case '-':
        return this.#text[this.#at + 1] === 'I' ? this.#word('-Infinity', -Infinity) : this.#number();
      default:
        return this.#number();
    }
  }

  #word(word: string, value: boolean | number | null): unknown {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected();
    this.#at += word.length;
    return value;
  }

  #number(): unknown {
    const text = this.#text;
    const start = this.#at;
    let end = start + (text.charCodeAt(start) === minus ? 1 : 0);
    // No digit may follow a leading zero.
    end = text.charCodeAt(end) === zero ? end + 1 : this.#digits(end);
    const integerEnd = end;
    if (text.charCodeAt(end) === point) end = this.#digits(end + 1);
    if (text[end] === 'e' || text[end] === 'E') {
      end++;
      if (text[end] === '+' || text[end] === '-') end++;
      end = this.#digits(end);
    }
    const written = text.slice(start, end);
    const value = Number(written);
    if (!Number.isFinite(value))
      throw invalidArgument(`failed to parse the JSON: the number at ${start} is too large`);
    this.#at = end;
    if (end > integerEnd) return new Fraction(value);
    if (Number.isSafeInteger(value)) return value;
    // No integer tensor takes longer integers.
    return written.length > mostDigits ? new Fraction(value) : BigInt(written);
  }

  /** The end of the digits at `from`. Throws if there is no digit. */
  #digits(from: number): number {
    let at = from;
    while (isDigit(this.#text.charCodeAt(at))) at++;
    if (at > from) return at;
    this.#at = from;
    throw this.#unexpected();
  }

  #string(): string {
    const start = this.#at;
    if (this.#text.charCodeAt(start) !== quote) throw this.#unexpected();
    let end = this.#text.indexOf('"', start + 1);
    while (end > 0 && this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1);
    if (end < 0) throw invalidArgument('failed to parse the JSON: a string has no end');
    this.#at = end + 1;
    try {
      // JSON.parse of a text in quotes returns a string.
      return JSON.parse(this.#text.slice(start, end + 1)) as string;
    } catch {
      this.#at = start;
      throw this.#unexpected();
    }
  }

  /** Whether the quote at `end` has an odd number of backslashes before it. */
  #isEscaped(end: number): boolean {
    let before = end;
    while (this.#text[before - 1] === '\\') before--;
    return (end - before) % 2 === 1;
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
      // As with JSON.parse, the last member of a name counts, and `__proto__` is a name like any other.
      if (this.#next('}')) return Object.fromEntries(members);
      this.#expect(',');
    }
  }

  /** Reads the next character if it is this one. Returns whether it is. */
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
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++;
  }

  #unexpected(): TritonError {
    const found = this.#text[this.#at];
    const what = found === undefined ? 'its end' : `'${found}'`;
    return invalidArgument(`failed to parse the JSON: unexpected ${what} at ${this.#at}`);
  }
}

function isDigit(code: number): boolean {
  return code >= zero && code <= 0x39;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/**
 * Parses a text; see the head of this file.
 *
 * @throws {@link TritonError} INVALID_ARG for text that is not JSON.
 */
export function parseExactly(text: string): unknown {
  return new Reader(text).readAll();
}
