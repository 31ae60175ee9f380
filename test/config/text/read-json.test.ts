import assert from 'node:assert/strict';
import test from 'node:test';
import { readModelConfigJson } from '../../../src/config/text/read-json.js';
import type { ParsedConfig } from '../../../src/config/text/read.js';
import { tritonErrorOf } from '../helpers.js';

const read = (value: unknown): ParsedConfig => readModelConfigJson({ file: 'config of loadModel', value });

for (const [name, value, expected] of [
  ['JSON text', '{"max_batch_size": 0}', { max_batch_size: 0 }],
  [
    'an object',
    { name: 'x', input: [{ name: 'a', dims: [1, -1] }] },
    { name: 'x', input: [{ name: 'a', dims: [1, -1] }] },
  ],
  [
    'enum names in any case',
    { input: [{ data_type: 'type_fp32' }] },
    { input: [{ data_type: 'TYPE_FP32' }] },
  ],
  ['enum values by number', { input: [{ data_type: 11 }] }, { input: [{ data_type: 'TYPE_FP32' }] }],
  [
    'integers as strings',
    { max_batch_size: '8', input: [{ dims: ['-1'] }] },
    { max_batch_size: 8, input: [{ dims: [-1] }] },
  ],
  ['integers as bigints', { input: [{ dims: [5n] }] }, { input: [{ dims: [5] }] }],
  [
    'numbers as strings',
    { model_metrics: { metric_control: [{ histogram_options: { buckets: ['1.5', 'Infinity'] } }] } },
    { model_metrics: { metric_control: [{ histogram_options: { buckets: [1.5, Infinity] } }] } },
  ],
  ['null as absent', { name: null, input: null }, {}],
  ['an empty message', { dynamic_batching: {} }, { dynamic_batching: {} }],
] as const) {
  test(`readModelConfigJson() reads ${name}`, () => {
    assert.deepEqual(read(value).value, expected);
  });
}

test('fields may have the names that protobuf gives them in JSON; keys of maps stay as they are', () => {
  const { value } = read({
    maxBatchSize: 8,
    input: [{ dataType: 'TYPE_FP32', isShapeTensor: false }],
    ensembleScheduling: { step: [{ modelName: 'a', inputMap: { own_key: 'tensorName' } }] },
    parameters: { someKey: { stringValue: 'x' } },
  });
  const expected = {
    max_batch_size: 8,
    input: [{ data_type: 'TYPE_FP32', is_shape_tensor: false }],
    ensemble_scheduling: { step: [{ model_name: 'a', input_map: { own_key: 'tensorName' } }] },
    parameters: { someKey: { string_value: 'x' } },
  };
  // Maps have no prototype.
  assert.deepEqual(JSON.parse(JSON.stringify(value)), expected);
});

test('any key of a map is an own property', () => {
  const { value } = read('{"metric_tags": {"__proto__": "x", "": "y"}}');
  assert.deepEqual(Object.entries(value.metric_tags ?? {}), [
    ['__proto__', 'x'],
    ['', 'y'],
  ]);
});

for (const [name, value, field, message] of [
  [
    'an unknown field',
    { max_batchsize: 4 },
    'max_batchsize',
    /unknown field max_batchsize \(did you mean max_batch_size\?\)/,
  ],
  [
    'a field by both of its names',
    { max_batch_size: 4, maxBatchSize: 8 },
    'maxBatchSize',
    /max_batch_size and its other name are both written/,
  ],
  ['an unknown field inside', { input: [{}, { nme: 'x' }] }, 'input[1].nme', /did you mean name\?/],
  ['a field named __proto__', '{"__proto__": {}}', '__proto__', /unknown field __proto__/],
  [
    'an unknown enum value',
    { input: [{ data_type: 'FP32' }] },
    'input[0].data_type',
    /unknown value FP32 .*TYPE_FP32/,
  ],
  ['an enum number without a name', { input: [{ data_type: 99 }] }, 'input[0].data_type', /unknown value 99/],
  [
    'an enum value of another type',
    { input: [{ data_type: true }] },
    'input[0].data_type',
    /name of a DataType but found true/,
  ],
  [
    'two of a oneof',
    { dynamic_batching: {}, sequence_batching: {} },
    'sequence_batching',
    /only one of dynamic_batching and sequence_batching/,
  ],
  [
    'a fraction for an integer',
    { max_batch_size: 1.5 },
    'max_batch_size',
    /expected an integer but found 1\.5/,
  ],
  [
    'a string that is no integer',
    { max_batch_size: '8x' },
    'max_batch_size',
    /expected an integer but found "8x"/,
  ],
  [
    'an integer that is too large',
    { max_batch_size: 2 ** 31 },
    'max_batch_size',
    /from -2147483648 to 2147483647/,
  ],
  [
    'an integer beyond 2^53',
    { dynamic_batching: { priority_levels: '9007199254740993' } },
    'dynamic_batching.priority_levels',
    /2\^53 - 1 but found 9007199254740993/,
  ],
  [
    'an integer of a million digits',
    { max_batch_size: '9'.repeat(1e6) },
    'max_batch_size',
    /expected an integer but found "9{60}…"/,
  ],
  ['a number for a string', { name: 5 }, 'name', /expected a string but found 5/],
  ['a lone surrogate', { name: '\ud800' }, 'name', /without lone surrogates/],
  [
    'a string for a boolean',
    { response_cache: { enable: 'true' } },
    'response_cache.enable',
    /expected true or false but found "true"/,
  ],
  [
    'a word for a number',
    { sequence_batching: { direct: { minimum_slot_utilization: 'half' } } },
    'sequence_batching.direct.minimum_slot_utilization',
    /expected a number/,
  ],
  [
    'an object for a list',
    { input: {} },
    'input',
    /expected an array \(ModelInput list\) but found an object/,
  ],
  [
    'a list for an object',
    { dynamic_batching: [] },
    'dynamic_batching',
    /expected an object \(ModelDynamicBatching\) but found an array/,
  ],
  [
    'a list for a map',
    { parameters: [] },
    'parameters',
    /expected an object \(map of ModelParameter\) but found an array/,
  ],
  [
    'a key that is no number',
    { dynamic_batching: { priority_queue_policy: { '01': {} } } },
    'dynamic_batching.priority_queue_policy["01"]',
    /whole number as key/,
  ],
  ['text that is not JSON', '{"name": }', '', /text is not JSON/],
  ['a text beyond the limit', ' '.repeat(50e6), '', /text has 50000000 characters/],
  ['a list', [], '', /expected a model configuration \(an object\) but found an array/],
  ['nothing', undefined, '', /but found undefined/],
  ['a function', () => 1, '', /but found a function/],
] as const) {
  test(`readModelConfigJson() refuses ${name}, saying where`, () => {
    const error = tritonErrorOf(() => read(value));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, message);
    assert.deepEqual(error.location, { file: 'config of loadModel', line: 0, field });
  });
}
