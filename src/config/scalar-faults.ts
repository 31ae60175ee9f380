/** What is wrong with a single value of a text-format file. */

import { isUtf8 } from 'node:buffer';
import { enumNames, integerRange, type Field } from './fields.js';
import type { ScannedValue } from './scan.js';
import { didYouMean } from './suggest.js';

/** What other libraries call an element type. */
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

/** ` (did you mean …?)` for an element type by another name, also where a similar name means something else. */
function otherTypeName(written: string): string | undefined {
  const bare = written.toUpperCase().replace(/^TYPE_/, '');
  const own = Object.hasOwn(otherTypeNames, bare) ? otherTypeNames[bare] : `TYPE_${bare}`;
  return own !== undefined && enumNames('DataType').includes(own) ? ` (did you mean ${own}?)` : undefined;
}

/** What is wrong with the name of an enum value; `written` is a word or a number. */
export function enumFault(type: string, written: string): string {
  const names = enumNames(type);
  const near = (type === 'DataType' ? otherTypeName(written) : undefined) ?? didYouMean(written, names);
  return `unknown value ${written.slice(0, 60)} for ${type}${near || `; known are ${names.join(', ')}`}`;
}

const integer = /^-?(?:0[xX][\da-fA-F]+|0[0-7]*|[1-9]\d*)$/;
const float = /^-?(?:(?:\d+\.\d*|\.\d+|\d+(?=[eEfF]))(?:[eE][+-]?\d+)?[fF]?|0|[1-9]\d*|inf(?:inity)?|nan)$/i;

/**
 * What is wrong with a scalar as it is written; undefined if nothing is.
 *
 * @param value - A value that is no block.
 */
export function scalarFault(field: Field, value: ScannedValue): string | undefined {
  const { text = '', quoted } = value;
  const wrong = (expected: string): string => `expected ${expected} but found ${shownValue(value)}`;
  if (field.kind === 'enum') {
    if (quoted) return wrong(`a value of ${field.type} without quotes`);
    const known = integer.test(text) ? enumNames(field.type)[Number(text)] : undefined;
    return known !== undefined || enumNames(field.type).includes(text)
      ? undefined
      : enumFault(field.type, text);
  }
  switch (field.type) {
    case 'string':
      if (!quoted) return wrong('a string in quotes');
      return isUtf8(bytesOf(text)) ? undefined : wrong('UTF-8, also where it is written with escapes,');
    case 'bool':
      return !quoted && /^(?:true|True|t|false|False|f|0+1?|0[xX]0*[01]|1)$/.test(text)
        ? undefined
        : wrong('true or false');
    case 'float':
    case 'double':
      return !quoted && float.test(text) ? undefined : wrong('a number');
    default: {
      if (quoted || !integer.test(text)) return wrong('an integer');
      const { low, high } = integerRange(field.type);
      const number = integerOf(text);
      return number >= low && number <= high ? undefined : wrong(`an integer from ${low} to ${high}`);
    }
  }
}

/** The bytes of a string between its quotes. */
function bytesOf(text: string): Buffer {
  const parts = text.split(/(\\(?:[xX][\da-fA-F]{1,2}|[0-7]{1,3}|.))/s).map((part) => {
    if (!part.startsWith('\\')) return plainBytes(part);
    const hex = /^\\[xX](.+)$/.exec(part)?.[1];
    if (hex !== undefined) return Buffer.from([parseInt(hex, 16)]);
    const octal = /^\\([0-7]+)$/.exec(part)?.[1];
    return octal === undefined ? Buffer.from(part.slice(1)) : Buffer.from([parseInt(octal, 8) & 0xff]);
  });
  return Buffer.concat(parts);
}

/** A lone surrogate becomes a byte that UTF-8 never has. */
function plainBytes(text: string): Buffer {
  return /\p{Surrogate}/u.test(text) ? Buffer.from([0xff]) : Buffer.from(text);
}

function integerOf(text: string): bigint {
  const digits = text.replace('-', '');
  const octal = /^0[0-7]/.test(digits);
  const number = BigInt(
    (octal ? '0o' : '') + (octal ? digits.replace(/^0+(?=.)/, '') : digits).slice(0, 400),
  );
  return text.startsWith('-') ? -number : number;
}

/** A value as messages show it. */
export function shownValue(value: ScannedValue): string {
  if (value.text === undefined) return 'a block { … }';
  const text = value.text.length > 60 ? `${value.text.slice(0, 60)}…` : value.text;
  return value.quoted ? `"${text}"` : text;
}

/** The message about an integer that a JavaScript number cannot hold. */
export function tooLarge(value: { toString(): string }): string {
  return `expected an integer between -(2^53 - 1) and 2^53 - 1 but found ${value.toString()}`;
}
