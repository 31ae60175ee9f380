import assert from 'node:assert/strict';
import { test } from 'node:test';
import { difference, meanSize, ofStatistics, sum } from '../../bench/reports/histogram.js';

test('a difference has only the sizes that ran since', () => {
  const before = new Map([
    [1, 5],
    [8, 2],
  ]);
  const after = new Map([
    [1, 5],
    [8, 3],
    [64, 4],
  ]);
  assert.deepEqual(
    difference(after, before),
    new Map([
      [8, 1],
      [64, 4],
    ]),
  );
});

test('a sum counts a size that several have once, with all its batches', () => {
  assert.deepEqual(
    sum([new Map([[1, 2]]), new Map([[1, 3]]), new Map([[4, 1]])]),
    new Map([
      [1, 5],
      [4, 1],
    ]),
  );
});

test('the mean size weighs a size by its batches', () => {
  assert.equal(
    meanSize(
      new Map([
        [1, 3],
        [5, 1],
      ]),
    ),
    2,
  );
});

test("a model's statistics become a histogram", () => {
  const stats = [
    { batch_size: 1, compute_infer: { count: 7 } },
    { batch_size: 64, compute_infer: { count: 2 } },
  ];
  assert.deepEqual(
    ofStatistics(stats),
    new Map([
      [1, 7],
      [64, 2],
    ]),
  );
});
