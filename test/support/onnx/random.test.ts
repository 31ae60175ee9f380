import assert from 'node:assert/strict';
import { test } from 'node:test';
import { random } from './random.js';

test('a seed gives the same numbers on every machine', () => {
  const numbers = random(1);
  // Another sequence would change every model's weights.
  assert.deepEqual([numbers.integer(1000), numbers.integer(1000), numbers.integer(1000)], [627, 2, 527]);
});

test('two seeds give two sequences', () => {
  assert.notDeepEqual(random(1).floats(4, 1), random(2).floats(4, 1));
});

test('floats are spread over the whole range', () => {
  const values = random(3).floats(10_000, 2);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  assert.ok(Math.abs(mean) < 0.05, `mean ${mean}`);
  assert.ok(Math.min(...values) < -1.99 && Math.min(...values) >= -2);
  assert.ok(Math.max(...values) > 1.99 && Math.max(...values) <= 2);
});
