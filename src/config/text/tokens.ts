/** The tokens of protobuf's text format. */

import { isUtf8 } from 'node:buffer';

/**
 * Matches comments, strings, words and numbers, marks, and any other character. An unclosed string matches up
 * to the end of its line; otherwise the text after its quote would be scanned again from each quote in it.
 */
const pattern =
  /#[^\n]*|"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"?|'[^'\\\n]*(?:\\[^\n][^'\\\n]*)*'?|[\w.+-]+|[^ \t\n\v\f\r]/g;

/**
 * The tokens of a text without its comments, followed by ''. A single call splits the whole text, because it
 * runs as compiled code from the start. Most processes read few configurations, so V8 would never compile a
 * loop over characters.
 */
export function tokensOf(text: string): string[] {
  const found: string[] = text.match(pattern) ?? [];
  const tokens = text.includes('#') ? found.filter((token) => !token.startsWith('#')) : found;
  tokens.push(endOfText);
  return tokens;
}

/** The offsets of these tokens in the text. */
export function offsetsOf(text: string): number[] {
  const offsets: number[] = [];
  for (const { 0: token, index } of text.matchAll(pattern)) if (!token.startsWith('#')) offsets.push(index);
  offsets.push(text.length);
  return offsets;
}

/** The token at the end of the text. */
export const endOfText = '';

const quote = 0x22;
const apostrophe = 0x27;

/** Whether a token is a string, closed or not. */
export function isString(token: string): boolean {
  const code = token.charCodeAt(0);
  return code === quote || code === apostrophe;
}

/** Whether a string is closed on its line. */
export function isClosed(token: string): boolean {
  const last = token.length - 1;
  if (last === 0 || token.charCodeAt(last) !== token.charCodeAt(0)) return false;
  if (!token.includes('\\')) return true;
  let escapes = 0;
  while (token.charAt(last - 1 - escapes) === '\\') escapes++;
  return escapes % 2 === 0;
}

/** Whether a token is a word or a number. */
export function isWord(token: string): boolean {
  return /^[\w.+-]/.test(token);
}

/** Stops reading a text whose rest cannot be understood. */
export class SyntaxFault extends Error {
  /** The token at which the fault is. */
  readonly at: number;
  constructor(at: number, text: string) {
    super(text);
    this.at = at;
  }
}

/**
 * The text of adjacent strings, which form one string; or an object with their fault.
 *
 * @param tokens - The strings with their quotes.
 * @param checked - Whether the text is known to have no lone surrogates.
 */
export function textOfStrings(
  tokens: readonly string[],
  checked: boolean,
): string | { readonly fault: string } {
  const parts = tokens.map((token) => token.slice(1, -1));
  const raw = parts.join('');
  const wellFormed = checked || !/\p{Surrogate}/u.test(raw);
  if (wellFormed && !raw.includes('\\')) return raw;
  const bytes: Buffer[] = [];
  for (const part of parts) {
    for (const [piece] of part.matchAll(pieces)) {
      const byte = piece.startsWith('\\') ? escaped(piece) : Buffer.from(piece);
      if (byte === undefined) return { fault: illegalEscape(piece) };
      bytes.push(byte);
    }
  }
  const whole = Buffer.concat(bytes);
  if (wellFormed && isUtf8(whole)) return whole.toString('utf8');
  return { fault: `expected UTF-8, also where it is written with escapes, but found ${shownString(tokens)}` };
}

/** Text without escapes, or one escape. */
const pieces = /[^\\]+|\\(?:[xX][\da-fA-F]{1,2}|[0-7]{1,3}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|.)/gsu;

const letters: Readonly<Record<string, number>> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 };

/** The bytes of an escape; undefined for a wrong escape. */
function escaped(piece: string): Buffer | undefined {
  const kind = piece.charAt(1);
  const digits = piece.slice(2);
  if (/[0-7]/.test(kind)) return Buffer.from([parseInt(piece.slice(1), 8) & 0xff]);
  if (/[xX]/.test(kind) && digits !== '') return Buffer.from([parseInt(digits, 16)]);
  if (/[uU]/.test(kind) && digits !== '') {
    const point = parseInt(digits, 16);
    const exists = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
    return exists ? Buffer.from(String.fromCodePoint(point)) : undefined;
  }
  const letter = Object.hasOwn(letters, kind) ? letters[kind] : undefined;
  if (letter !== undefined) return Buffer.from([letter]);
  return '\\\'"?'.includes(kind) ? Buffer.from(kind) : undefined;
}

function illegalEscape(piece: string): string {
  const kind = piece.charAt(1);
  if (/[xX]/.test(kind)) return 'illegal hex escape';
  return /[uU]/.test(kind) ? 'illegal unicode escape' : `illegal string escape '${piece}'`;
}

/** Adjacent strings as text for messages: without quotes between them, and cut if they are long. */
export function shownString(tokens: readonly string[]): string {
  const raw = tokens.map((token) => token.slice(1, -1)).join('');
  return `"${raw.length > 60 ? `${raw.slice(0, 60)}…` : raw}"`;
}

/** The name of a character that begins no token. */
export function characterName(code: number): string {
  const number = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return code > 0x20 && code < 0x7f ? String.fromCodePoint(code) : number;
}
