import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCompareOptions } from '../../../bench/compare/options.js';

test('one commit is compared with the working tree, two with each other', () => {
  assert.equal(readCompareOptions(['HEAD~3']).second, undefined);
  const { first, second, only } = readCompareOptions(['v1', 'v2', '--only', 'mlp']);
  assert.deepEqual([first, second, only], ['v1', 'v2', ['mlp']]);
});

test('a wrong number of commits, or another model, is refused', () => {
  assert.throws(() => readCompareOptions([]), /one commit or two, not 0/);
  assert.throws(() => readCompareOptions(['a', 'b', 'c']), /not 3/);
  assert.throws(() => readCompareOptions(['a', '--only', 'conv']), /--only takes add, identity, two, mlp/);
});
