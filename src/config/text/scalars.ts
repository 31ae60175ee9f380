/** Reads words and numbers of the text format, and explains wrong ones. */

import { enumNames, integerRange, type Field } from '../schema/fields.js';
import { didYouMean } from '../../suggest.js';
import { shownString } from './tokens.js';

/** Describes a wrong value. */
export interface ValueFault {
  readonly fault: string;
}

/** The value of a word for a field that is neither a message nor a string. */
export function scalarOf({ kind, type }: Field, word: string): string | number | boolean | ValueFault {
  if (kind === 'enum') {
    const names = enumNames(type);
    const index = names.indexOf(word);
    // The table's own string, because a slice of the text would keep the whole text in memory.
    return names[index < 0 ? Number(exactInteger(word) ?? -1) : index] ?? { fault: enumFault(type, word) };
  }
  if (type === 'bool') return booleanOf(word) ?? wrong(expectedOf(type), word);
  if (type === 'float' || type === 'double') return floatOf(word) ?? wrong(expectedOf(type), word);
  // Fast path: nearly all integers are small and in JavaScript's format.
  const number = Number(word) | 0;
  return String(number) === word && (number >= 0 || !type.startsWith('u')) ? number : integerOf(type, word);
}

/** The fault if strings are the value of a field of another type. */
export function quotedFault({ kind, type }: Field, strings: readonly string[]): ValueFault {
  const expected = kind === 'enum' ? `a value of ${type} without quotes` : expectedOf(type);
  return { fault: `expected ${expected} but found ${shownString(strings)}` };
}

/** The fault if a word is the value of a string field. */
export function unquotedFault(word: string): ValueFault {
  return wrong('a string in quotes', word);
}

function expectedOf(type: string): string {
  if (type === 'bool') return 'true or false';
  return type === 'float' || type === 'double' ? 'a number' : 'an integer';
}

function wrong(expected: string, word: string): ValueFault {
  return { fault: `expected ${expected} but found ${shownWord(word)}` };
}

/** A word as text for messages. */
export function shownWord(word: string): string {
  return word.length > 60 ? `${word.slice(0, 60)}…` : word;
}

const integer = /^-?(?:0[xX][\da-fA-F]+|0[0-7]*|[1-9]\d*)$/;
const float =
  /^(-?)(?:((?:0|[1-9]\d*)(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)[fF]?|inf(?:inity)?|(nan))$/i;

/** The value of a decimal, hexadecimal or octal integer; undefined if the word is not an integer. */
function exactInteger(word: string): bigint | undefined {
  if (!integer.test(word)) return undefined;
  const digits = word.replace('-', '');
  const octal = /^0[0-7]/.test(digits);
  // No integer of a field is longer, and converting much longer ones is slow.
  const value = BigInt((octal ? '0o' : '') + (octal ? digits.replace(/^0+(?=.)/, '') : digits).slice(0, 400));
  return word.startsWith('-') ? -value : value;
}

function integerOf(type: string, word: string): number | ValueFault {
  const exact = exactInteger(word);
  if (exact === undefined) return wrong(expectedOf(type), word);
  const { low, high } = integerRange(type);
  // Unsigned integers take no sign, not even zero.
  if (exact < low || exact > high || (low === 0n && word.startsWith('-'))) {
    return wrong(`an integer from ${low} to ${high}`, word);
  }
  const number = Number(exact);
  return Number.isSafeInteger(number) ? number : { fault: tooLarge(exact) };
}

function floatOf(word: string): number | undefined {
  const [whole, sign, digits, nan] = float.exec(word) ?? [];
  if (whole === undefined) return undefined;
  const size = digits !== undefined ? Number(digits) : nan !== undefined ? NaN : Infinity;
  return sign === '-' ? -size : size;
}

function booleanOf(word: string): boolean | undefined {
  if (word === 'true' || word === 'True' || word === 't') return true;
  if (word === 'false' || word === 'False' || word === 'f') return false;
  return /^(?:0+1?|0[xX]0*[01]|1)$/.test(word) ? word.endsWith('1') : undefined;
}

/** Names of element types in other libraries. */
const otherTypeNames: Readonly<Record<string, string>> = {
  FLOAT: 'TYPE_FP32',
  FLOAT32: 'TYPE_FP32',
  FLOAT16: 'TYPE_FP16',
  HALF: 'TYPE_FP16',
  BFLOAT16: 'TYPE_BF16',
  FLOAT64: 'TYPE_FP64',
  DOUBLE: 'TYPE_FP64',
  INT: 'TYPE_INT32',
  LONG: 'TYPE_INT64',
  BOOLEAN: 'TYPE_BOOL',
  BYTES: 'TYPE_STRING',
};

/**
 * Returns ` (did you mean …?)` for another library's name of an element type, even if a similar name has
 * another meaning.
 */
function otherTypeName(written: string): string | undefined {
  const bare = written.toUpperCase().replace(/^TYPE_/, '');
  const own = Object.hasOwn(otherTypeNames, bare) ? otherTypeNames[bare] : `TYPE_${bare}`;
  return own !== undefined && enumNames('DataType').includes(own) ? ` (did you mean ${own}?)` : undefined;
}

/** The fault for an unknown name or number of an enum value. */
export function enumFault(type: string, written: string): string {
  const names = enumNames(type);
  const near = (type === 'DataType' ? otherTypeName(written) : undefined) ?? didYouMean(written, names);
  return `unknown value ${written.slice(0, 60)} for ${type}${near || `; known are ${names.join(', ')}`}`;
}

/** The message about an integer that is too large for a JavaScript number. */
export function tooLarge(value: { toString(): string }): string {
  return `expected an integer between -(2^53 - 1) and 2^53 - 1 but found ${value.toString()}`;
}
