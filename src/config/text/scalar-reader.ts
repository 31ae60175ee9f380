/** Reads scalar values of fields: strings, words and numbers. */

import type { Field } from '../schema/fields.js';
import { TokenCursor } from './cursor.js';
import { quotedFault, scalarOf, shownWord, unquotedFault, type ValueFault } from './scalars.js';
import { endOfText, isString, shownString, textOfStrings } from './tokens.js';

/** Takes the place of a wrong value, to record that the field was written. */
export const wrong = null;

/** See the head of this file. */
export class ScalarReader extends TokenCursor {
  readonly #wellFormed: boolean;

  /** @param wellFormed - Whether the text is known to have no lone surrogates. */
  constructor(text: string, wellFormed: boolean) {
    super(text);
    this.#wellFormed = wellFormed;
  }

  /**
   * The text of a string in the most common form: a single closed string without escapes; {@link wrong} for any
   * other form.
   */
  protected plainString(token: string): string | null {
    const last = token.length - 1;
    const plain =
      isString(token) &&
      last > 0 &&
      token.charCodeAt(last) === token.charCodeAt(0) &&
      !token.includes('\\') &&
      this.#wellFormed &&
      !isString(this.tokens[this.at + 1] ?? endOfText);
    return plain ? token.slice(1, -1) : wrong;
  }

  /** Takes a scalar as the value of a field. `token` is the next token. */
  protected scalar(field: Field, token: string): string | number | boolean | ValueFault {
    const isText = field.type === 'string';
    if (isString(token)) {
      const strings = this.strings();
      return isText ? textOfStrings(strings, this.#wellFormed) : quotedFault(field, strings);
    }
    const word = this.word(field.name, token);
    return isText ? unquotedFault(word) : scalarOf(field, word);
  }

  /** Skips a scalar where none is allowed. Returns its text for messages. */
  protected shown(name: string, token: string): string {
    if (isString(token)) return shownString(this.strings());
    return shownWord(this.word(name, token));
  }
}
