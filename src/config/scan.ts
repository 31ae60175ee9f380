/**
 * The structure of a text-format file with its lines, without regard to any schema. The parser proper does not say
 * where a value stood; this finds it again, and names the slips that people make most often.
 */

/** A value as it stands in the text: a scalar, or a block of fields. */
export interface ScannedValue {
  readonly line: number;
  /** A scalar as written; a string without its quotes, with its escapes. Undefined for a block. */
  readonly text: string | undefined;
  readonly quoted: boolean;
  /** The fields of a block; undefined for a scalar. */
  readonly fields: ScannedField[] | undefined;
}

/** A field as it stands in the text. */
export interface ScannedField {
  readonly name: string;
  readonly line: number;
  /** Written as `name: [ … ]`. */
  list: boolean;
  /** A colon follows the name. */
  colon: boolean;
  readonly values: ScannedValue[];
}

/** What {@link scan} found: all fields, or those before the first fault. */
export interface Scan {
  readonly fields: readonly ScannedField[];
  readonly fault: { readonly line: number; readonly text: string } | undefined;
}

/** Blocks within blocks; far beyond the schema's depth. */
const deepest = 100;

interface Token {
  readonly kind: 'word' | 'string' | 'mark' | 'end';
  readonly text: string;
  readonly line: number;
}

/** A block or list that is open at the point of reading. */
interface Frame {
  readonly line: number;
  /** Where the fields of the block go. */
  readonly fields: ScannedField[];
  /** The mark that ends the block; empty for the whole file. */
  readonly close: string;
  /** The field whose list is open in this block. */
  list: ScannedField | undefined;
  /** What the list or block needs next is a value or field: nothing, a comma or a semicolon came before. */
  state: 'start' | 'after' | 'separated';
}

const wordPattern = /[\w.+-]+/y;
const blankPattern = /[ \t\r\v\f]*(?:#[^\n]*)?/y;

class Fault extends Error {
  readonly line: number;
  constructor(line: number, text: string) {
    super(text);
    this.line = line;
  }
}

class Tokens {
  private readonly text: string;
  private position = 0;
  private line = 1;

  constructor(text: string) {
    this.text = text;
  }

  next(): Token {
    this.skipBlanks();
    const { line, text } = this;
    const start = this.position;
    const first = text[start];
    if (first === undefined) return { kind: 'end', text: '', line };
    if (first === '"' || first === "'") return this.string(first);
    if ('{}<>[]:,;'.includes(first)) {
      this.position++;
      return { kind: 'mark', text: first, line };
    }
    const word = this.match(wordPattern);
    if (word !== '') return { kind: 'word', text: word, line };
    if (text.startsWith('//', start) || text.startsWith('/*', start)) {
      throw new Fault(line, `${text.slice(start, start + 2)} is no comment here: write # before a comment`);
    }
    throw new Fault(line, `unexpected character ${characterName(text.codePointAt(start) ?? 0)}`);
  }

  /** The next token if it is a string, without moving on if it is not. */
  nextString(): Token | undefined {
    this.skipBlanks();
    const first = this.text[this.position];
    return first === '"' || first === "'" ? this.string(first) : undefined;
  }

  private skipBlanks(): void {
    for (;;) {
      this.match(blankPattern);
      if (this.text[this.position] !== '\n') return;
      this.position++;
      this.line++;
    }
  }

  private string(quote: string): Token {
    const { line, text } = this;
    const start = this.position + 1;
    // A loop and not a pattern: a long string must not use up the stack of the pattern matcher.
    let end = start;
    while (end < text.length && text[end] !== quote && text[end] !== '\n') end += text[end] === '\\' ? 2 : 1;
    if (text[end] !== quote)
      throw new Fault(line, `the string that begins with ${quote} is not closed on its line`);
    this.position = end + 1;
    return { kind: 'string', text: text.slice(start, end), line };
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.text)?.[0] ?? '';
    this.position += found.length;
    return found;
  }
}

/**
 * Reads the structure of a text-format file. Takes time in proportion to the text and never throws.
 *
 * @param text - The file, without a byte order mark.
 */
export function scan(text: string): Scan {
  const tokens = new Tokens(text);
  const fields: ScannedField[] = [];
  const stack: Frame[] = [{ line: 1, fields, close: '', list: undefined, state: 'start' }];
  try {
    for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
      if (stack.length > deepest)
        throw new Fault(frame.line, `blocks are nested deeper than ${deepest} levels`);
      if (frame.list === undefined) blockStep(tokens, frame, stack);
      else listStep(tokens, frame, frame.list, stack);
    }
    return { fields, fault: undefined };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { fields, fault: { line: error.line, text: error.message } };
  }
}

/** Reads one field of a block, up to its value or the opening of it; or a separator, or the end of the block. */
function blockStep(tokens: Tokens, frame: Frame, stack: Frame[]): void {
  const token = tokens.next();
  if (isMark(token, frame.close)) {
    stack.pop();
  } else if (token.kind === 'end') {
    if (frame.close !== '')
      throw new Fault(frame.line, `the block that begins here is not closed with ${frame.close}`);
    stack.pop();
  } else if (isMark(token, ',') || isMark(token, ';')) {
    if (frame.state !== 'after') throw new Fault(token.line, `unexpected ${token.text}`);
    frame.state = 'separated';
  } else if (token.kind !== 'word' || !/^[A-Za-z_]\w*$/.test(token.text)) {
    const json = isMark(token, '{') ? ' (no braces go around the whole; is this JSON?)' : '';
    throw new Fault(token.line, `expected the name of a field but found ${shown(token)}${json}`);
  } else {
    frame.state = 'after';
    const field: ScannedField = { name: token.text, line: token.line, list: false, colon: false, values: [] };
    frame.fields.push(field);
    let value = tokens.next();
    if (isMark(value, ':')) {
      field.colon = true;
      value = tokens.next();
    }
    if (isMark(value, '[')) {
      field.list = true;
      frame.list = field;
      frame.state = 'start';
    } else {
      readValue(tokens, value, field, stack);
    }
  }
}

/** Reads one value of a list, a comma, or the end of the list. */
function listStep(tokens: Tokens, frame: Frame, field: ScannedField, stack: Frame[]): void {
  const token = tokens.next();
  if (isMark(token, ']')) {
    if (frame.state === 'separated')
      throw new Fault(token.line, 'a comma before ] is not allowed: remove the last comma');
    frame.list = undefined;
    frame.state = 'after';
  } else if (frame.state === 'after') {
    if (!isMark(token, ','))
      throw new Fault(token.line, `expected a comma or ] in the list of ${field.name.slice(0, 60)}`);
    frame.state = 'separated';
  } else {
    frame.state = 'after';
    readValue(tokens, token, field, stack);
  }
}

/** Adds the value that begins with a token to its field; of a block only the opening, and the block is then open. */
function readValue(tokens: Tokens, token: Token, field: ScannedField, stack: Frame[]): void {
  const { line } = token;
  if (isMark(token, '{') || isMark(token, '<')) {
    const fields: ScannedField[] = [];
    field.values.push({ line, text: undefined, quoted: false, fields });
    stack.push({ line, fields, close: token.text === '{' ? '}' : '>', list: undefined, state: 'start' });
  } else if (token.kind === 'string') {
    let text = token.text;
    for (let more = tokens.nextString(); more !== undefined; more = tokens.nextString()) text += more.text;
    field.values.push({ line, text, quoted: true, fields: undefined });
  } else if (token.kind === 'word') {
    const text = token.text === '-' ? `-${tokens.next().text}` : token.text;
    field.values.push({ line, text, quoted: false, fields: undefined });
  } else {
    throw new Fault(line, `expected a value for ${field.name.slice(0, 60)} but found ${shown(token)}`);
  }
}

function isMark(token: Token, mark: string): boolean {
  return token.kind === 'mark' && token.text === mark;
}

function shown(token: Token): string {
  if (token.kind === 'end') return 'the end of the file';
  const text = token.text.slice(0, 60);
  return token.kind === 'string' ? `"${text}"` : text;
}

function characterName(code: number): string {
  const number = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return code > 0x20 && code < 0x7f ? String.fromCodePoint(code) : number;
}
