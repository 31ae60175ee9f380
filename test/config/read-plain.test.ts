import assert from 'node:assert/strict';
import test from 'node:test';
import { readPlainConfig } from '../../src/config/read-plain.js';
import { faulty } from '../corpus/faulty.js';
import { names, textOf } from '../corpus/repository.js';
import { parse } from './helpers.js';

const file = 'config.pbtxt';

function plain(text: string | Uint8Array): ReturnType<typeof readPlainConfig> {
  return readPlainConfig({ file, text: typeof text === 'string' ? Buffer.from(text) : text });
}

/** With maps as the readers make them: the same, and without a prototype. */
function assertSame(text: string): void {
  assert.deepStrictEqual(plain(text)?.value, parse(text).value);
}

for (const [name, text] of [
  ['nothing', ''],
  ['comments', '# a { "\nname: "x" # "b\n#c'],
  ['a byte order mark', '\uFEFFname: "x"'],
  ['separators', 'name: "x"; backend: "y", input { name: "a", dims: [1, 2]; }'],
  ['strings side by side', `name: "a" 'b'\n"c" '"' platform: ''`],
  ['text of any script', 'name: "é 漢 😀\u00a0#"'],
  [
    'lists, single values and blocks of both kinds',
    'input: [ {}, < name: "x" > ] input { dims: 1 dims: [2, -1] }',
  ],
  ['empty lists', 'input [ ] instance_group { gpus: [ ] }'],
  [
    'maps',
    'parameters [ { key: "a" value { string_value: "1" } } ] parameters { key: "__proto__"; value: {} }',
  ],
  ['empty maps', 'metric_tags [ ]'],
  ['maps of strings', 'metric_tags { key: "a" value: "1" } metric_tags: { key: "a", value: "2", }'],
  ['numbers', 'max_batch_size: 0 input { dims: [ 999999999, -999999999 ] }'],
  ['flags and enum values', 'input { optional: true data_type: TYPE_FP32 is_shape_tensor: false }'],
  ['no spaces', 'name:"x"input{name:"a"dims:[1,-1]data_type:TYPE_FP32}'],
] as const) {
  test(`the plain reader reads ${name} as the parser proper does`, () => {
    assert.ok(plain(text));
    assertSame(text);
  });
}

for (const [name, text] of [
  ['an escape', String.raw`name: "\n"`],
  ['a long number', 'input { dims: 1000000000 }'],
  ['an octal number', 'max_batch_size: 017'],
  ['minus zero', 'max_batch_size: -0'],
  ['a negative number without a sign', 'instance_group { rate_limiter { priority: -1 } }'],
  ['a number with a word', 'max_batch_size: 1name: "x"'],
  ['a floating-point number', 'model_metrics { metric_control { histogram_options { buckets: 1 } } }'],
  ['an enum value by number', 'input { data_type: 11 }'],
  ['a flag of one letter', 'input { optional: t }'],
  ['an entry without a value', 'metric_tags { key: "a" }'],
  ['an entry with a number for a key', 'dynamic_batching { priority_queue_policy { key: 1 value {} } }'],
  ['an unknown field', 'nam: "x"'],
  ['a field of an object', 'constructor: "x"'],
  ['a field twice', 'name: "x" name: "x"'],
  ['two of a oneof', 'version_policy { all {} latest {} }'],
  ['a missing colon', 'name "x"'],
  ['two separators', 'name: "x",;'],
  ['a separator before a field', 'input { , }'],
  ['a comma at the end of a list', 'input { dims: [ 1, ] }'],
  ['a list for one value', 'max_batch_size: [ 1 ]'],
  ['an open block', 'input {'],
  ['a block that closes otherwise', 'input { >'],
  ['an open string', 'name: "x'],
  ['a string over lines', 'name: "x\ny"'],
  ['a space that is none', 'name:\u00a0"x"'],
  ['a byte order mark inside', 'name: \uFEFF"x"'],
  ['a NUL byte', 'name: "\0"'],
  ['a long text', `name: "${'x'.repeat(65_536)}"`],
] as const) {
  test(`the plain reader leaves ${name} to the parser proper`, () => {
    assert.equal(plain(text), undefined);
  });
}

test('the plain reader reads no faulty file of the corpus that the parser proper refuses', () => {
  for (const { content } of faulty) {
    const text = Buffer.from(content);
    const read = plain(text);
    if (read) assert.deepStrictEqual(read.value, parse(text.toString()).value);
  }
});

test('the plain reader reads most files of the corpus, and finds their lines', () => {
  const read = names.filter((name) => {
    const text = textOf(name);
    const found = plain(text);
    if (found === undefined) return false;
    const proper = parse(text);
    assert.deepStrictEqual(found.value, proper.value, name);
    for (const path of ['name', 'input[0].dims', 'instance_group[0]']) {
      assert.equal(found.lineOf(path), proper.lineOf(path));
    }
    return true;
  });
  assert.ok(read.length > names.length / 2, `${read.length} of ${names.length}`);
});
