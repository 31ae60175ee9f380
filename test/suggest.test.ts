import assert from 'node:assert/strict';
import test from 'node:test';
import { didYouMean, suggest } from '../src/suggest.js';

const names = [
  'max_batch_size',
  'metric_tags',
  'input',
  'output',
  'instance_group',
  'TYPE_FP32',
  'TYPE_FP16',
];

for (const [word, expected] of [
  ['max_batchsize', 'max_batch_size'],
  ['maxBatchSize', 'max_batch_size'],
  ['max-batch-size', 'max_batch_size'],
  ['max_bacth_size', 'max_batch_size'],
  ['inputs', 'input'],
  ['instance_groups', 'instance_group'],
  ['type_fp32', 'TYPE_FP32'],
  ['TYPE_FP36', 'TYPE_FP32'],
  ['sequence', undefined],
  ['x', undefined],
  ['', undefined],
] as const) {
  test(`for ${JSON.stringify(word)} the suggestion is ${String(expected)}`, () => {
    assert.equal(suggest(word, names), expected);
  });
}

test('a word of a million letters gets no suggestion, at once', () => {
  assert.equal(suggest('a'.repeat(1e6), names), undefined);
});

test('didYouMean() is empty without a near miss', () => {
  assert.equal(didYouMean('outptu', names), ' (did you mean output?)');
  assert.equal(didYouMean('zebra', names), '');
});

test('didYouMean() names all that a shortened word may mean', () => {
  assert.equal(didYouMean('metr', names), ' (did you mean metric_tags?)');
  assert.equal(didYouMean('type_fp', names), ' (did you mean TYPE_FP32 or TYPE_FP16?)');
  assert.equal(didYouMean('in', names), '');
});
