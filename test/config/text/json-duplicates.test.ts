/** Members that a JSON configuration has twice. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readModelConfigJson } from '../../../src/config/index.js';
import { thrown } from '../../support/harness.js';

const read = (value: string) => readModelConfigJson({ file: 'config of loadModel', value });

test('a key that a map of a step has twice is an error with both lines', () => {
  for (const [scheduling, map] of [
    ['ensemble_scheduling', 'input_map'],
    ['ensembleScheduling', 'outputMap'],
  ] as const) {
    const error = thrown(() =>
      read(`{
  "${scheduling}": { "step": [ { "model_name": "a" }, { "model_name": "b",
    "${map}": { "x": "one",
      "y": "two",
      "\\u0078": "three" } } ] } }`),
    );
    assert.match(
      String(error),
      new RegExp(`step\\[1\\]\\.${map}\\["x"\\]: the key is written twice \\(lines 3 and 5\\)`),
    );
  }
});

test('elsewhere it is a note, and the last one counts', () => {
  const { value, notes } = read(`{ "max_batch_size": 4, "input": [ { "name": "x", "name": "y" } ],
  "parameters": { "a b": { "string_value": "[{,:" }, "a": {}, "a b": { "string_value": "2" } },
  "max_batch_size": 8 }`);
  assert.equal(value.max_batch_size, 8);
  assert.deepEqual(notes, [
    'input[0].name: written twice (lines 1 and 1); the last one counts',
    'parameters["a b"]: written twice (lines 2 and 2); the last one counts',
    'max_batch_size: written twice (lines 1 and 3); the last one counts',
  ]);
});

test('what is written once, in whatever place, is no note', () => {
  const text = `{ "input": [ { "name": "name", "dims": [1, 2] }, { "name": "x" } ], "output": [ { "name": "name" } ] }`;
  assert.deepEqual(read(text).notes, []);
  assert.equal(
    read(`{ "parameters": { ${Array.from({ length: 200 }, () => '"a": {}').join()} } }`).notes?.length,
    50,
  );
});

test('a text that is nested too deeply is refused at once', () => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"parameters":', '}'],
  ] as const) {
    const depth = 50_000;
    const error = thrown(() => read(`{"parameters":${open.repeat(depth)}1${close.repeat(depth)}}`));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, /arrays and objects are nested deeper than 100 levels/);
  }
});

test('many members at a great depth take no quadratic time', () => {
  const name = 'n'.repeat(100);
  const members = Array.from({ length: 20_000 }, (_, i) => `"m${i}":0`).join();
  const text = `{"parameters":{"a":{"${`${name}":{"`.repeat(90)}x":{${members},"m7":1}${'}'.repeat(93)}`;
  assert.match(thrown(() => read(text)).message, /unknown|not a field|no field/i);
});
