import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ascending,
  estimate,
  median,
  percentile,
  ratio,
  reaches,
  staysBelow,
} from '../../bench/reports/statistics.js';

test('a percentile lies between two neighbours in proportion', () => {
  assert.equal(percentile([10, 20, 30, 40], 0), 10);
  assert.equal(percentile([10, 20, 30, 40], 0.5), 25);
  assert.equal(percentile([10, 20, 30, 40], 1), 40);
  assert.equal(percentile([7], 0.99), 7);
});

test('there is no percentile of nothing', () => {
  assert.throws(() => percentile([], 0.5), RangeError);
});

test('values are sorted as numbers, in a copy', () => {
  const values = [10, 9, 100];
  assert.deepEqual([...ascending(values)], [9, 10, 100]);
  assert.deepEqual(values, [10, 9, 100]);
});

test('the median of an even count is the mean of the two in the middle', () => {
  assert.equal(median([4, 1, 3, 2]), 2.5);
});

test('the spread is the median deviation, so one bad round does not widen it', () => {
  assert.deepEqual(estimate([100, 102, 98, 101, 3]), { median: 100, spread: 2, least: 3, greatest: 102 });
});

test('a ratio is taken round by round, so what slows a whole round down does not show', () => {
  const quick = ratio([100, 50, 100], [10, 5, 10]);
  assert.deepEqual(quick, { median: 10, spread: 0, least: 10, greatest: 10 });
});

test('one value alone has no spread: a second one was not measured', () => {
  assert.deepEqual(estimate([5]), { median: 5, spread: undefined, least: 5, greatest: 5 });
});

test('a limit is reached within the spread, from above and from below, and exactly without one', () => {
  const about = { median: 10, spread: 1, least: 8, greatest: 12 };
  assert.equal(reaches(about, 11), true);
  assert.equal(reaches(about, 11.1), false);
  assert.equal(staysBelow(about, 9), true);
  assert.equal(staysBelow(about, 8.9), false);
  assert.equal(reaches(estimate([10]), 10.1), false);
  assert.equal(staysBelow(estimate([10]), 10), true);
});

test('rounds of different counts have no ratio', () => {
  assert.throws(() => ratio([1, 2], [1]), /2 rounds can't be divided by 1/);
});
