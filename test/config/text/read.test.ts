import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test from 'node:test';
import { maxConfigBytes } from '../../../src/config/text/decode.js';
import { parse, tritonErrorOf } from '../helpers.js';

for (const [name, text, expected] of [
  ['nothing', '', {}],
  ['comments only', '# a\n#b', {}],
  ['a byte order mark', '\uFEFFname: "x"', { name: 'x' }],
  ['an explicit zero', 'max_batch_size: 0', { max_batch_size: 0 }],
  [
    'semicolons and commas',
    'name: "x"; backend: "y", platform: "z"',
    { name: 'x', platform: 'z', backend: 'y' },
  ],
  ['strings side by side', `name: "a" 'b'\n"c"`, { name: 'abc' }],
  ['escapes', String.raw`name: "\303\251\n\x41\\\""`, { name: 'é\nA\\"' }],
  ['lists and single values', 'input { dims: 1 dims: [2, -1] }', { input: [{ dims: [1, 2, -1] }] }],
  ['a list of blocks', 'input: [ {}, < name: "x" > ]', { input: [{}, { name: 'x' }] }],
  ['enum values by number', 'input { data_type: 11 }', { input: [{ data_type: 'TYPE_FP32' }] }],
  [
    '64-bit integers',
    'version_policy { specific { versions: -9007199254740991 } }',
    { version_policy: { specific: { versions: [-9007199254740991] } } },
  ],
  [
    'hexadecimal and octal',
    'max_batch_size: 0x10 instance_group { count: 017 }',
    { max_batch_size: 16, instance_group: [{ count: 15 }] },
  ],
  ['an empty message', 'dynamic_batching { }', { dynamic_batching: {} }],
  [
    'a member of a oneof that is false',
    'model_warmup { inputs { key: "x" value { zero_data: false } } }',
    { model_warmup: [{ inputs: { x: { zero_data: false } } }] },
  ],
] as const) {
  test(`readModelConfig() reads ${name}`, () => {
    assert.deepEqual(JSON.parse(JSON.stringify(parse(text).value)), expected);
  });
}

test('the last of equal keys of a map wins', () => {
  const { value } = parse('metric_tags { key: "a" value: "1" } metric_tags { key: "a" value: "2" }');
  assert.equal(value.metric_tags?.['a'], '2');
});

test('any key of a map is an own property', () => {
  const { value } = parse('metric_tags { key: "__proto__" value: "x" } metric_tags { value: "empty" }');
  assert.deepEqual(Object.entries(value.metric_tags ?? {}), [
    ['__proto__', 'x'],
    ['', 'empty'],
  ]);
  assert.equal(Object.getPrototypeOf(value.metric_tags), null);
});

for (const [name, text, line, field, message] of [
  [
    'a misspelt field',
    'name: "x"\nmax_batchsize: 8',
    2,
    'max_batchsize',
    /unknown field max_batchsize \(did you mean max_batch_size\?\)/,
  ],
  ['a misspelt field inside', 'input [\n {\n  nme: "x" } ]', 3, 'input[0].nme', /did you mean name\?/],
  [
    'a field in the wrong place',
    'preferred_batch_size: 4',
    1,
    'preferred_batch_size',
    /belongs in dynamic_batching\)/,
  ],
  [
    'a top-level field inside',
    'input {\n name: "x"\n output { } }',
    3,
    'input[0].output',
    /belongs at the top level; is a } missing/,
  ],
  ['a field nobody knows', 'zebra: 1', 1, 'zebra', /a model configuration has no such field$/],
  [
    'a wrong part of an entry',
    'parameters { ky: "x" }',
    1,
    'parameters[""]',
    /an entry has a key and a value \(did you mean key\?\)/,
  ],
  ['a field written twice', 'name: "x"\n\nname: "y"', 3, 'name', /written twice \(first on line 1\)/],
  [
    'two of a oneof',
    'dynamic_batching { }\nsequence_batching { }',
    2,
    'sequence_batching',
    /only one of dynamic_batching \(line 1\) and sequence_batching/,
  ],
  [
    'two version policies',
    'version_policy {\n latest { }\n all { } }',
    3,
    'version_policy.all',
    /only one of latest/,
  ],
  ['a list for a single value', 'max_batch_size: [ 4 ]', 1, 'max_batch_size', /takes one int32, not a list/],
  [
    'an unknown enum value',
    'input {\n data_type: TYPE_FP23 }',
    2,
    'input[0].data_type',
    /unknown value TYPE_FP23 .*did you mean TYPE_FP32\?/,
  ],
  [
    'an enum value in small letters',
    'input { data_type: type_fp32 }',
    1,
    'input[0].data_type',
    /did you mean TYPE_FP32\?/,
  ],
  [
    'an enum value in quotes',
    'input { data_type: "TYPE_FP32" }',
    1,
    'input[0].data_type',
    /without quotes but found "TYPE_FP32"/,
  ],
  [
    'an enum number without a name',
    'input {\n\n data_type: 99 }',
    3,
    'input[0].data_type',
    /unknown value 99 .*known are TYPE_INVALID, /,
  ],
  ['a negative enum number', 'input { data_type: -1 }', 1, 'input[0].data_type', /unknown value -1/],
  [
    'a word of JavaScript as enum value',
    'input { data_type: constructor }',
    1,
    'input[0].data_type',
    /unknown value constructor/,
  ],
  [
    'a string for an integer',
    'max_batch_size: "8"',
    1,
    'max_batch_size',
    /expected an integer but found "8"/,
  ],
  [
    'a fraction for an integer',
    'input { dims: [ 1,\n 1.5 ] }',
    2,
    'input[0].dims[1]',
    /expected an integer but found 1\.5/,
  ],
  [
    'an integer that is too large',
    'max_batch_size: 2147483648',
    1,
    'max_batch_size',
    /from -2147483648 to 2147483647 but found 2147483648/,
  ],
  [
    'a negative unsigned integer',
    'model_warmup { batch_size: -1 }',
    1,
    'model_warmup[0].batch_size',
    /from 0 to 4294967295 but found -1/,
  ],
  [
    'an integer beyond 2^53',
    '\ndynamic_batching { max_queue_delay_microseconds: 9007199254740993 }',
    2,
    'dynamic_batching.max_queue_delay_microseconds',
    /2\^53 - 1 but found 9007199254740993/,
  ],
  [
    'an integer beyond 64 bits',
    'dynamic_batching { priority_levels: 18446744073709551616 }',
    1,
    'dynamic_batching.priority_levels',
    /to 18446744073709551615/,
  ],
  [
    'a word for a boolean',
    'response_cache { enable: yes }',
    1,
    'response_cache.enable',
    /expected true or false but found yes/,
  ],
  [
    'a word for a number',
    'sequence_batching { direct { minimum_slot_utilization: half } }',
    1,
    'sequence_batching.direct.minimum_slot_utilization',
    /expected a number but found half/,
  ],
  ['a string without quotes', 'name: x', 1, 'name', /expected a string in quotes but found x/],
  ['a block for a scalar', 'name { }', 1, 'name', /expected string but found a block/],
  ['a scalar for a block', 'input: 3', 1, 'input[0]', /expected a block \{ … \} but found 3/],
  ['a scalar for an entry', 'parameters: 3', 1, 'parameters', /but found 3/],
  ['a missing colon', 'name "x"', 1, 'name', /colon is missing/],
  ['a comma before ]', 'input [ { },\n]', 2, '', /comma before \] is not allowed/],
  ['a comment with //', 'name: "x" // a model', 1, '', /write # before a comment/],
  ['an unknown escape', 'name:\n "\\q"', 2, 'name', /illegal string escape/],
  ['bytes that are not UTF-8', 'name: "\\xff"', 1, 'name', /expected UTF-8/],
  ['a code point that does not exist', String.raw`name: "\ud800"`, 1, 'name', /illegal unicode escape/],
  [
    'minus zero for an unsigned integer',
    'model_warmup { batch_size: -0 }',
    1,
    'model_warmup[0].batch_size',
    /from 0 to/,
  ],
  [
    'a number with a leading zero that is not octal',
    'sequence_batching { direct { minimum_slot_utilization: 00.5 } }',
    1,
    'sequence_batching.direct.minimum_slot_utilization',
    /expected a number but found 00\.5/,
  ],
  [
    'a key of a step written twice',
    'ensemble_scheduling { step {\n input_map { key: "x" value: "a" }\n input_map { value: "b" key: "x" } } }',
    3,
    'ensemble_scheduling.step[0].input_map["x"]',
    /the key "x" is written twice \(first on line 2\)/,
  ],
  [
    'a key of a step written twice in one list',
    'ensemble_scheduling { step { output_map [ { key: "x" value: "a" },\n { key: "x" value: "a" } ] } }',
    2,
    'ensemble_scheduling.step[0].output_map["x"]',
    /the key "x" is written twice \(first on line 1\)/,
  ],
  [
    'an entry with two keys',
    'metric_tags {\n key: "a"\n key: "b" value: "c" }',
    3,
    'metric_tags["b"]',
    /key is written twice \(first on line 2\)/,
  ],
  [
    'a list as the value of an entry',
    'metric_tags { key: "a" value: [ "b" ] }',
    1,
    'metric_tags["a"]',
    /value takes one string/,
  ],
  [
    'a fault in an entry before its key',
    'parameters { value { string_valu: "x" } key: "k" }',
    1,
    'parameters["k"].string_valu',
    /did you mean string_value\?/,
  ],
  ['a sign alone', 'max_batch_size: -', 1, 'max_batch_size', /expected an integer but found -/],
  ['half of a surrogate pair', 'name: "\ud800"', 1, 'name', /expected UTF-8/],
  ['a NUL byte', 'name: "x"\nbackend: "\0"', 2, '', /NUL byte/],
  ['an extension', '[a.b]: 3', 1, '', /expected the name of a field but found \[/],
] as const) {
  test(`readModelConfig() refuses ${name}, saying where`, () => {
    const error = tritonErrorOf(() => parse(text));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, message);
    assert.deepEqual(error.location, { file: 'config.pbtxt', line, field });
    assert.ok(error.message.startsWith(`config.pbtxt:${line}: `), error.message);
  });
}

for (const [written, meant] of [
  ['TYPE_FLOAT32', 'TYPE_FP32'],
  ['TYPE_DOUBLE', 'TYPE_FP64'],
  ['float16', 'TYPE_FP16'],
  ['BYTES', 'TYPE_STRING'],
  ['INT64', 'TYPE_INT64'],
  ['TYPE_LONG', 'TYPE_INT64'],
] as const) {
  test(`the type ${written} of another library is taken for ${meant}`, () => {
    const error = tritonErrorOf(() => parse(`input { data_type: ${written} }`));
    assert.match(
      error.message,
      new RegExp(`unknown value ${written} for DataType \\(did you mean ${meant}\\?\\)`),
    );
  });
}

test('all faults of a file are listed, and are the causes of the error', () => {
  const error = tritonErrorOf(() => parse('nme: "x"\ninput { dims: [ a ] }\nmax_batch_size: "1"'));
  assert.deepEqual(error.message.match(/^config\.pbtxt:\d/gm), [
    'config.pbtxt:1',
    'config.pbtxt:2',
    'config.pbtxt:3',
  ]);
  assert.ok(error.cause instanceof AggregateError);
  assert.equal(error.cause.errors.length, 3);
});

test('more faults than are listed are counted', () => {
  const text = (count: number): string =>
    `input { dims: [ ${Array.from({ length: count }, () => 'a').join(', ')} ] }`;
  assert.match(tritonErrorOf(() => parse(text(60))).message, /\n… and 10 more$/);
  assert.match(tritonErrorOf(() => parse(text(2000))).message, /\n… and many more$/);
});

test('a sign may stand alone before its number, and a comment between them', () => {
  assert.deepEqual(parse('input { dims: [ - 1, - # minus\n 2 ] }').value, { input: [{ dims: [-1, -2] }] });
});

test('bytes are read as UTF-8, with or without a byte order mark', () => {
  assert.equal(parse(Buffer.from('\uFEFFname: "é"')).value.name, 'é');
  assert.equal(parse(new Uint8Array(Buffer.from('name: "é"'))).value.name, 'é');
});

test('bytes that are not UTF-8 are refused with their line', () => {
  const error = tritonErrorOf(() => parse(Buffer.from([0x0a, 0x0a, 0xc3, 0x28, 0x0a, 0xff])));
  assert.equal(error.location?.line, 3);
  assert.match(error.message, /not UTF-8/);
});

test('UTF-16 is recognised', () => {
  assert.match(tritonErrorOf(() => parse(Buffer.from('\uFEFFname: "x"', 'utf16le'))).message, /UTF-16/);
});

for (const [name, text] of [
  ['50 MB of spaces', ' '.repeat(50e6)],
  ['a million nested braces', '{'.repeat(1e6)],
  ['nested blocks up to the limit', 'input{'.repeat(maxConfigBytes / 6)],
  ['nested lists up to the limit', 'input:['.repeat(maxConfigBytes / 7)],
  ['one long word', 'a'.repeat(maxConfigBytes)],
  ['one long number', `max_batch_size: ${'9'.repeat(maxConfigBytes - 20)}`],
  ['one long open string', `name: "${'\\"'.repeat(maxConfigBytes / 2 - 10)}`],
  ['one long key', `parameters { key: "${'\\\\'.repeat(maxConfigBytes / 2 - 50)}" value: 1 }`],
  ['many faults', 'x:1 '.repeat(maxConfigBytes / 4)],
] as const) {
  test(`${name} are refused in bounded time, with a short message`, { timeout: 20_000 }, () => {
    const error = tritonErrorOf(() => parse(text));
    assert.equal(error.code, 'INVALID_ARG');
    assert.ok(error.message.length < 10_000, `${error.message.length} characters`);
  });
}

test('a large file within the limit is read', () => {
  const { value } = parse('input{}'.repeat(maxConfigBytes / 8));
  assert.equal(value.input?.length, maxConfigBytes / 8);
});

test('reading needs no code generation from strings', () => {
  const read = new URL('../../../src/config/text/read.js', import.meta.url).href;
  const script = `import { readModelConfig } from ${JSON.stringify(read)};
    const text = 'input { name: "x" } parameters { key: "k" }';
    console.log(JSON.stringify(readModelConfig({ file: 'f', text }).value));`;
  const flags = ['--disallow-code-generation-from-strings', '--input-type=module', '--eval', script];
  const printed = execFileSync(process.execPath, flags, { encoding: 'utf8' });
  assert.deepEqual(JSON.parse(printed), { input: [{ name: 'x' }], parameters: { k: {} } });
});
