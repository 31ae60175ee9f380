/**
 * Texts to test the configuration reader with: damaged good ones, random ones of the right form, and noise.
 */

import { readFileSync } from 'node:fs';
import fc from '../support/fast-check.js';
import { expandConfig } from '../../src/config/schema/expand.js';
import { allFieldPaths, enumNames } from '../../src/config/schema/fields.js';
import { printConfig } from '../../src/config/text/print.js';
import { faulty } from '../corpus/faulty.js';
import { names, textOf } from '../corpus/repository.js';
import { anyConfig } from './arbitrary.js';

const fixture = (name: string): string =>
  readFileSync(new URL(`../../../test/config/fixtures/${name}.pbtxt`, import.meta.url), 'utf8');

/** The texts that are damaged: the corpus, its faulty files, and files that together have every field. */
const seeds: readonly Buffer[] = [
  ...names.map((name) => Buffer.from(textOf(name))),
  ...faulty.map(({ content }) => Buffer.from(content)),
  ...['dynamic', 'sequence', 'oldest', 'ensemble'].map((name) => Buffer.from(fixture(name))),
];

const fieldNames = [...new Set(allFieldPaths().map(({ field }) => field.name))];

/** Words and marks that configurations consist of, and some that they must not have. */
const words: readonly string[] = [
  ...fieldNames,
  ...enumNames('DataType'),
  ...enumNames('ModelInstanceGroup.Kind'),
  ...[
    '{',
    '}',
    '<',
    '>',
    '[',
    ']',
    ':',
    ',',
    ';',
    '#',
    '"',
    "'",
    '\\',
    '\n',
    '//',
    '/*',
    '*/',
    '-',
    '+',
    '.',
    '=',
  ],
  ...[
    'key',
    'value',
    'true',
    'false',
    'True',
    't',
    'nan',
    'inf',
    '-inf',
    'infinity',
    '1e400',
    '1.5f',
    '0x',
    '08',
  ],
  ...['0', '-1', '1', '16', '017', '0x10', '2147483647', '2147483648', '-2147483649', '4294967296'],
  ...['9007199254740991', '9007199254740992', '9223372036854775807', '18446744073709551616'],
  ...[
    '"x"',
    '""',
    "'y'",
    String.raw`"\303\251"`,
    String.raw`"\377"`,
    String.raw`"\x4"`,
    String.raw`"\u00e9"`,
  ],
  ...['\0', '\uFEFF', '\u00a0', '\u2028', '__proto__', 'constructor', 'toString', '[type.googleapis.com/x]'],
];

const anyWord = fc.constantFrom(...words);

/** A kind of damage. Positions are taken modulo the length. */
const anyDamage: fc.Arbitrary<(content: Buffer) => Buffer> = fc.oneof(
  fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })).map(([at, mask]) => (content: Buffer) => {
    const damaged = Buffer.from(content);
    const index = at % Math.max(1, damaged.length);
    if (index < damaged.length) damaged[index] = (damaged[index] ?? 0) ^ mask;
    return damaged;
  }),
  fc.tuple(fc.nat(), fc.nat(40)).map(
    ([at, length]) =>
      (content: Buffer) =>
        replaced(content, at, length, ''),
  ),
  fc.tuple(fc.nat(), fc.nat(6), anyWord).map(
    ([at, length, word]) =>
      (content: Buffer) =>
        replaced(content, at, length, word),
  ),
  fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 8 })).map(
    ([at, bytes]) =>
      (content: Buffer) =>
        replaced(content, at, 0, bytes),
  ),
  fc.tuple(fc.nat(), fc.nat(), fc.constantFrom(...seeds)).map(([at, from, other]) => (content: Buffer) => {
    const head = content.subarray(0, at % (content.length + 1));
    return Buffer.concat([head, other.subarray(from % (other.length + 1))]);
  }),
  fc.tuple(fc.nat(), fc.nat(), fc.integer({ min: 0, max: 3 })).map(
    ([from, to, times]) =>
      (content: Buffer) =>
        lineMoved(content, from, to, times),
  ),
  fc.tuple(fc.nat(), anyWord).map(
    ([at, word]) =>
      (content: Buffer) =>
        numberReplaced(content, at, word),
  ),
);

function replaced(content: Buffer, at: number, length: number, by: string | Uint8Array): Buffer {
  const start = at % (content.length + 1);
  return Buffer.concat([
    content.subarray(0, start),
    typeof by === 'string' ? Buffer.from(by) : by,
    content.subarray(start + length),
  ]);
}

/** Moves a line to another place, `times` times. */
function lineMoved(content: Buffer, from: number, to: number, times: number): Buffer {
  const lines = content.toString('latin1').split('\n');
  const [line = ''] = lines.splice(from % lines.length, 1);
  lines.splice(to % (lines.length + 1), 0, ...Array.from({ length: times }, () => line));
  return Buffer.from(lines.join('\n'), 'latin1');
}

function numberReplaced(content: Buffer, at: number, by: string): Buffer {
  const text = content.toString('latin1');
  const numbers = [...text.matchAll(/-?\d+/g)];
  const number = numbers[at % Math.max(1, numbers.length)];
  if (number === undefined) return content;
  return Buffer.from(
    text.slice(0, number.index) + by + text.slice(number.index + number[0].length),
    'latin1',
  );
}

const damaged: fc.Arbitrary<Uint8Array> = fc
  .tuple(fc.constantFrom(...seeds), fc.array(anyDamage, { minLength: 1, maxLength: 5 }))
  .map(([seed, damages]) => damages.reduce((content, damage) => damage(content), seed));

const anySpace = fc.constantFrom(' ', '', '\n', '\t ', '\r\n', '# no { \n', '  ');

/** Text of the right form: fields with values of any kind, at right and wrong places. */
const { block } = fc.letrec<{ block: string; field: string; value: string }>((tie) => ({
  block: fc.array(tie('field'), { maxLength: 5 }).map((fields) => fields.join('')),
  field: fc
    .tuple(
      fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...fieldNames) }, { weight: 1, arbitrary: anyWord }),
      anySpace,
      fc.constantFrom(':', ':', ''),
      anySpace,
      tie('value'),
      fc.constantFrom(' ', '\n', ', ', '; '),
    )
    .map((parts) => parts.join('')),
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    anyWord,
    tie('block').map((text) => `{${text}}`),
    tie('block').map((text) => `<${text}>`),
    fc.array(tie('value'), { maxLength: 4 }).map((list) => `[${list.join(', ')}]`),
  ),
}));

const valid = anyConfig.map((written) => printConfig(expandConfig(written)));

/** Anything that may stand in a file config.pbtxt. */
export const anyContent: fc.Arbitrary<Uint8Array> = fc.oneof(
  { weight: 6, arbitrary: damaged },
  { weight: 2, arbitrary: block.map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: valid.map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.array(anyWord, { maxLength: 40 }).map((list) => Buffer.from(list.join(' '))) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
);
