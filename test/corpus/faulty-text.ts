/** Files with a wrong or unusual encoding or form. */

import { exchanged, withLine, type Faulty } from './faulty-base.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const join = (...parts: (string | number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => Buffer.from(typeof part === 'string' ? bytes(part) : part)));

const loads = undefined;

/** Bytes that are no text, or unusual text. */
export const encodings: readonly Faulty[] = [
  { what: 'a byte order mark', content: join([0xef, 0xbb, 0xbf], withLine('')), fault: loads },
  { what: 'lines that end with CR LF', content: withLine('').replaceAll('\n', '\r\n'), fault: loads },
  {
    what: 'tabs and form feeds',
    content: withLine('').replaceAll(' ', '\t').replace('\n', '\n\f\n'),
    fault: loads,
  },
  {
    what: 'a byte order mark in the middle',
    content: exchanged('max_batch', '\uFEFFmax_batch'),
    fault: { line: 3, field: '', text: 'unexpected character U+FEFF' },
  },
  {
    what: 'UTF-16',
    content: join([0xff, 0xfe], [...Buffer.from(withLine(''), 'utf16le')]),
    fault: { line: 1, field: '', text: 'the file seems to be UTF-16: save it as UTF-8' },
  },
  {
    what: 'broken UTF-8',
    content: join('name: "m', [0xc3, 0x28], '"\n'),
    fault: { line: 1, field: '', text: 'the file is not UTF-8' },
  },
  {
    what: 'Latin-1 in a comment',
    content: join('max_batch_size: 8\n# Gr', [0xfc], 'n\n'),
    fault: { line: 2, field: '', text: 'the file is not UTF-8' },
  },
  {
    what: 'a NUL byte',
    content: withLine('# \0'),
    fault: { line: 6, field: '', text: 'the file contains a NUL byte' },
  },
  {
    what: 'an escape that makes a string no UTF-8',
    content: withLine(String.raw`metric_tags { key: "\377" value: "a" }`),
    fault: { line: 6, field: 'metric_tags["\\\\377"]', text: 'expected UTF-8' },
  },
  {
    what: 'a blank that does not break',
    content: exchanged('max_batch_size: 8', 'max_batch_size:\u00a08'),
    fault: { line: 3, field: '', text: 'unexpected character U+00A0' },
  },
  {
    what: 'quotes of a word processor',
    content: exchanged('"onnxruntime"', '“onnxruntime”'),
    fault: { line: 2, field: '', text: 'unexpected character U+201C' },
  },
];

/** Text of a wrong form. */
export const syntax: readonly Faulty[] = [
  {
    what: 'a comma behind the last element',
    content: withLine('dynamic_batching { preferred_batch_size: [ 4, 8, ] }'),
    fault: { line: 6, field: '', text: 'a comma before ] is not allowed' },
  },
  {
    what: 'a comma behind the last entry',
    content: exchanged('} ]', '}, ]'),
    fault: { line: 4, field: '', text: 'a comma before ] is not allowed' },
  },
  {
    what: 'two commas',
    content: withLine('dynamic_batching { preferred_batch_size: [ 4,, 8 ] }'),
    fault: { line: 6, field: '', text: 'expected a value for preferred_batch_size but found ,' },
  },
  {
    what: 'no comma between elements',
    content: withLine('dynamic_batching { preferred_batch_size: [ 4 8 ] }'),
    fault: { line: 6, field: '', text: 'expected a comma or ] in the list of preferred_batch_size' },
  },
  {
    what: 'a comment in the style of C',
    content: withLine('dynamic_batching { } // on'),
    fault: { line: 6, field: '', text: '// does not begin a comment here: write # before a comment' },
  },
  {
    what: 'a block comment',
    content: withLine('/* on */ dynamic_batching { }'),
    fault: { line: 6, field: '', text: '/* does not begin a comment here' },
  },
  {
    what: 'an equals sign',
    content: exchanged('max_batch_size: 8', 'max_batch_size = 8'),
    fault: { line: 3, field: 'max_batch_size', text: 'unexpected character =' },
  },
  {
    what: 'a name without its colon',
    content: exchanged('max_batch_size: 8', 'max_batch_size 8'),
    fault: { line: 3, field: 'max_batch_size', text: 'a colon is missing after the name' },
  },
  {
    what: 'a string without quotes',
    content: exchanged('"onnxruntime"', 'onnxruntime'),
    fault: { line: 2, field: 'backend', text: 'expected a string in quotes but found onnxruntime' },
  },
  {
    what: 'a string without its end',
    content: exchanged('"onnxruntime"', '"onnxruntime'),
    fault: { line: 2, field: '', text: 'is not closed on its line' },
  },
  {
    what: 'a block without its end',
    content: withLine('instance_group [ { kind: KIND_CPU ]'),
    fault: { line: 6, field: '', text: 'expected the name of a field but found ]' },
  },
  {
    what: 'a file that ends inside of a block',
    content: withLine('dynamic_batching {'),
    fault: { line: 6, field: '', text: 'the block that begins here is not closed with }' },
  },
  {
    what: 'one brace too many',
    content: withLine('dynamic_batching { } }'),
    fault: { line: 6, field: '', text: 'expected the name of a field but found }' },
  },
  {
    what: 'brackets that do not fit',
    content: withLine('instance_group < kind: KIND_CPU }'),
    fault: { line: 6, field: '', text: 'expected the name of a field but found }' },
  },
  {
    what: 'JSON',
    content: '{\n  "backend": "onnxruntime",\n  "max_batch_size": 8\n}\n',
    fault: { line: 1, field: '', text: 'is this JSON?' },
  },
  {
    what: 'YAML',
    content: 'backend: onnxruntime\ninput:\n  - name: x\n    dims: [16]\n',
    fault: { line: 1, field: 'backend', text: 'expected a string in quotes but found onnxruntime' },
  },
  {
    what: 'the marks of a merge',
    content: withLine('<<<<<<< HEAD'),
    fault: { line: 6, field: '', text: 'expected the name of a field but found <' },
  },
];
