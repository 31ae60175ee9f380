import assert from 'node:assert/strict';
import test from 'node:test';
import { fieldPath, indexPath, keyPath, pathSteps, schemaPath } from '../../../src/config/schema/paths.js';
import { parse, tritonErrorOf } from '../helpers.js';

const text = `# comment with { and "
name: "m" # input {
input [
  {
    name: "a"
    dims: [ 1,
            2 ]
  },
  { name: "b" dims: 3
    dims: 4 }
]
input <
  name: "c { # \\" "
  reshape: {
    shape: 5
  }
>
parameters {
  key: "first"
  value { string_value: "one" }
}
parameters [
  { key: "a.b[0]"
    value: {
      string_value: 'two'
        "three" } }
]
metric_tags { key: "first" value: "x" }
max_batch_size:
  4
`;

for (const [path, line] of [
  ['name', 2],
  ['input', 12],
  ['input[0]', 4],
  ['input[0].name', 5],
  ['input[0].dims', 6],
  ['input[0].dims[1]', 7],
  ['input[0].data_type', 4],
  ['input[1].dims[0]', 9],
  ['input[1].dims[1]', 10],
  ['input[2].name', 13],
  ['input[2].reshape.shape', 15],
  ['input[3].name', 12],
  ['parameters["first"]', 18],
  ['parameters["first"].string_value', 20],
  ['parameters["a.b[0]"].string_value', 25],
  ['parameters["none"]', 22],
  ['metric_tags["first"]', 28],
  ['max_batch_size', 29],
  ['output', 0],
  ['output[0].dims', 0],
] as const) {
  test(`the line of ${path} is ${line}`, () => {
    assert.equal(parse(text).positionOf(path).line, line);
  });
}

for (const [path, column] of [
  ['name', 1],
  ['input[0]', 3],
  ['input[0].dims', 5],
  ['input[0].dims[1]', 13],
  ['parameters["a.b[0]"].string_value', 7],
  ['metric_tags["first"]', 13],
  ['output', 0],
] as const) {
  test(`the column of ${path} is ${column}`, () => {
    assert.equal(parse(text).positionOf(path).column, column);
  });
}

test('a key that is written with escapes is found', () => {
  const parsed = parse('metric_tags { key: "a" }\nmetric_tags { key: "\\x62" \'c\' }');
  assert.equal(parsed.positionOf('metric_tags["bc"]').line, 2);
});

test('the steps of a path are those it was made of', () => {
  const key = 'a]."[0]';
  const path = fieldPath(keyPath(fieldPath(indexPath('x', 3), 'y'), key), 'z');
  assert.deepEqual(pathSteps(path), [
    { kind: 'field', name: 'x' },
    { kind: 'index', index: 3 },
    { kind: 'field', name: 'y' },
    { kind: 'key', key },
    { kind: 'field', name: 'z' },
  ]);
  assert.equal(schemaPath(path), 'x.y.z');
});

test('a key of a million letters is cut in a path', () => {
  assert.equal(pathSteps(keyPath('m', '"'.repeat(1e6))).length, 2);
  assert.ok(keyPath('m', 'a'.repeat(1e6)).length < 200);
});

for (const [name, wrong, line, message] of [
  [
    'an open block in a list',
    'input [ {\n name: "x"\n ]',
    3,
    /found \] \(the block that begins on line 1 is not closed with }\)/,
  ],
  ['curly quotes', 'name: “x”', 1, /unexpected character U\+201C: write straight quotes/],
  ['an open block', 'name: "x"\ninput {\n\n', 2, /block that begins here is not closed with }/],
  ['an open list', 'input [\n{}\n', 3, /expected a comma or ] in the list of input/],
  ['a comma before ]', 'x: [ 1,\n ]', 2, /comma before ]/],
  ['a second comma', 'x: 1,,', 1, /unexpected ,/],
  ['a missing comma', 'x [ {}\n{} ]', 2, /expected a comma or ]/],
  ['a comment with //', 'x: 1\n  // y', 2, /write # before a comment/],
  ['a comment with /*', 'x: 1 /* y */', 1, /write # before a comment/],
  ['an open string', 'x: "a\nb"', 1, /not closed on its line/],
  ['a name without a value', 'x:\n}', 2, /expected a value for x but found }/],
  ['JSON', '{ "x": 1 }', 1, /is this JSON\?/],
  ['a letter of another alphabet', 'х: 1', 1, /unexpected character U\+0445/],
  ['a no-break space', 'x:\u00a01', 1, /unexpected character U\+00A0/],
  ['deep nesting', 'x {'.repeat(1e5), 1, /deeper than 100/],
] as const) {
  test(`the reader finds ${name} and its line`, () => {
    const said =
      tritonErrorOf(() => parse(wrong))
        .message.split('\n')
        .at(-1) ?? '';
    assert.ok(said.startsWith(`config.pbtxt:${line}: `), said);
    assert.match(said, message);
  });
}
