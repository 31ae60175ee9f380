/** Goes through the tokens of a text, following the part of the grammar that does not depend on the schema. */

import { positionIn } from './positions.js';
import {
  characterName,
  endOfText,
  isClosed,
  isString,
  isWord,
  offsetsOf,
  SyntaxFault,
  tokensOf,
} from './tokens.js';

/** The maximum nesting depth of blocks, which is far more than the schema needs. */
const deepest = 100;

const marks = '{}<>[]:,;';
/** Quotes that editors of texts write in place of straight ones. */
const curlyQuotes = '“”„‟‘’‚‛«»';

/** See the head of this file. */
export class TokenCursor {
  /** Number of the next token. */
  at = 0;
  #offsets: readonly number[] | undefined;
  protected readonly text: string;
  /** All tokens, followed by ''. */
  protected readonly tokens: readonly string[];

  constructor(text: string) {
    this.text = text;
    this.tokens = tokensOf(text);
  }

  /** The offset of a token in the text. */
  protected offsetOf(token: number): number {
    this.#offsets ??= offsetsOf(this.text);
    return this.#offsets[token] ?? this.text.length;
  }

  /** The line of a token, from 1. */
  protected lineOf(token: number): number {
    return positionIn(this.text, this.offsetOf(token)).line;
  }

  /** The next token. */
  next(): string {
    return this.tokens[this.at] ?? endOfText;
  }

  /** Takes the next token if it is `token`. Returns the token after it. */
  skip(token: string): string {
    if (this.tokens[this.at] === token) this.at++;
    return this.tokens[this.at] ?? endOfText;
  }

  /**
   * Takes the separator that may follow a field. Returns whether there was one.
   *
   * @param allowed - Whether a field precedes it.
   */
  separator(allowed: boolean): boolean {
    const token = this.next();
    if (token !== ',' && token !== ';') return false;
    if (!allowed) throw new SyntaxFault(this.at, `unexpected ${token}`);
    this.at++;
    return true;
  }

  /**
   * Throws for a token that is not the name of a field.
   *
   * @param inside - The block, which needs a field or its closing mark here. `at` is the token that begins the
   *   block.
   */
  checkName(token: string, inside: { readonly close: string; readonly at: number }): void {
    if (/^[A-Za-z_]\w*$/.test(token)) return;
    if (token === endOfText) {
      throw new SyntaxFault(inside.at, `the block that begins here is not closed with ${inside.close}`);
    }
    const isMark = token === ']' || token === '}' || token === '>';
    const more =
      token === '{'
        ? ' (no braces go around the whole; is this JSON?)'
        : isMark && inside.close !== endOfText
          ? ` (the block that begins on line ${this.lineOf(inside.at)} is not closed with ${inside.close})`
          : '';
    this.#unexpected(token, 'the name of a field', more);
  }

  /**
   * Reads a list, from its opening mark (the next token) to its closing mark.
   *
   * @param name - The field's name.
   * @param read - Reads the value that begins with the given token, which is the next one.
   */
  list(name: string, read: (token: string) => void): void {
    this.at++;
    if (this.next() !== ']') {
      do {
        if (this.next() === ']') {
          throw new SyntaxFault(this.at, 'a comma before ] is not allowed: remove the last comma');
        }
        read(this.next());
      } while (this.#take(','));
      const token = this.next();
      if (token !== ']') {
        this.#checkToken(token);
        throw new SyntaxFault(this.at, `expected a comma or ] in the list of ${name.slice(0, 60)}`);
      }
    }
    this.at++;
  }

  /** Takes adjacent strings, which form one string. There must be at least one. */
  strings(): readonly string[] {
    const first = this.at;
    for (let token = this.next(); isString(token); token = this.next()) {
      this.#checkToken(token);
      this.at++;
    }
    return this.tokens.slice(first, this.at);
  }

  /**
   * Takes a word or number. A minus sign may precede it as a separate token.
   *
   * @param name - The field's name.
   * @param token - The next token.
   */
  word(name: string, token: string): string {
    if (!isWord(token)) this.#unexpected(token, `a value for ${name.slice(0, 60)}`);
    this.at++;
    if (token !== '-' || !isWord(this.next())) return token;
    return token + (this.tokens[this.at++] ?? '');
  }

  /**
   * Skips an unknown field.
   *
   * @param name - The next token.
   * @param depth - How many blocks are open.
   */
  skipField(name: string, depth: number): void {
    this.at++;
    const token = this.skip(':');
    const skipValue = (value: string): void => {
      if (value === '{' || value === '<') this.skipBlock(value, depth);
      else if (isString(value)) this.strings();
      else this.word(name, value);
    };
    if (token === '[') this.list(name, skipValue);
    else skipValue(token);
  }

  /** Skips a block that begins with the next token. */
  skipBlock(open: string, depth: number): void {
    if (depth >= deepest) {
      throw new SyntaxFault(this.at, `blocks are nested deeper than ${deepest} levels`);
    }
    const inside = { close: open === '{' ? '}' : '>', at: this.at++ };
    for (let behind = false; this.next() !== inside.close;) {
      if (this.separator(behind)) {
        behind = false;
        continue;
      }
      const name = this.next();
      this.checkName(name, inside);
      this.skipField(name, depth + 1);
      behind = true;
    }
    this.at++;
  }

  #take(token: string): boolean {
    if (this.tokens[this.at] !== token) return false;
    this.at++;
    return true;
  }

  #unexpected(token: string, expected: string, more = ''): never {
    this.#checkToken(token);
    const shown = isString(token) ? `"${token.slice(1, -1).slice(0, 60)}"` : token.slice(0, 60);
    const found = token === endOfText ? 'the end of the file' : shown;
    throw new SyntaxFault(this.at, `expected ${expected} but found ${found}${more}`);
  }

  /** Throws if the next token is a string that is not closed, or a character that begins no token. */
  #checkToken(token: string): void {
    if (isString(token)) {
      if (isClosed(token)) return;
      const begin = `the string that begins with ${token.charAt(0)}`;
      throw new SyntaxFault(this.at, `${begin} is not closed on its line`);
    }
    if (token === endOfText || marks.includes(token) || isWord(token)) return;
    const offset = this.offsetOf(this.at);
    if (this.text.startsWith('//', offset) || this.text.startsWith('/*', offset)) {
      const slashes = this.text.slice(offset, offset + 2);
      throw new SyntaxFault(this.at, `${slashes} does not begin a comment here: write # before a comment`);
    }
    const code = this.text.codePointAt(offset) ?? 0;
    const advice = curlyQuotes.includes(String.fromCodePoint(code)) ? ': write straight quotes, "…"' : '';
    throw new SyntaxFault(this.at, `unexpected character ${characterName(code)}${advice}`);
  }
}
