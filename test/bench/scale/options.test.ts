import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readScaleOptions } from '../../../bench/scale/options.js';

test('without arguments every part runs', () => {
  const options = readScaleOptions([]);
  assert.deepEqual(options.only, ['served', 'load', 'memory', 'map']);
  assert.equal(options.rounds, 5);
});

test('--only chooses parts, in the order of the report', () => {
  assert.deepEqual(readScaleOptions(['--only', 'map,load']).only, ['load', 'map']);
  assert.throws(() => readScaleOptions(['--only', 'lod']), /--only takes served, .*, not 'lod'/);
  assert.throws(() => readScaleOptions(['--window', 'x']), /--window takes a whole number/);
});
