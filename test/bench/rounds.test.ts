import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BareLoop } from '../../bench/contestants/contestant.js';
import type { ContestantName } from '../../bench/reports/results.js';
import { runLoad, turnOrder } from '../../bench/measuring/rounds.js';

test('over the rounds everybody comes first, and everybody is in every round', () => {
  const names = ['a', 'b', 'c'];
  const orders = Array.from({ length: 6 }, (_, round) => turnOrder(names, round));
  assert.deepEqual(new Set(orders.map(([first]) => first)), new Set(names));
  for (const order of orders) assert.deepEqual(order.toSorted(), names);
});

/** A contestant with the given rates. The first one belongs to the round that is not kept. */
function scripted(name: ContestantName, rates: readonly number[], turns: string[]): BareLoop {
  const left = [...rates];
  return {
    kind: 'loop',
    name,
    how: '',
    measure: () => {
      turns.push(name);
      const requestsPerSecond = left.shift() ?? NaN;
      return Promise.resolve({ answers: 1, seconds: 1, requestsPerSecond, latency: undefined });
    },
    close: () => Promise.resolve(),
  };
}

test('rounds are interleaved, the first is dropped, and ratios are ours by theirs', async () => {
  const turns: string[] = [];
  const ours = scripted('tritonts', [1, 20, 30, 40], turns);
  const theirs = scripted('bare C++ loop', [9, 10, 10, 10], turns);
  const load = { outstanding: 1, warmUpMs: 0, windowMs: 1, timed: 1 };
  const rows = await runLoad([ours, theirs], load, 3, () => undefined);
  for (let round = 0; round < 4; round++) {
    assert.equal(new Set(turns.slice(2 * round, 2 * round + 2)).size, 2, `round ${round} has both`);
  }
  const [first, second] = rows;
  assert.equal(first?.requestsPerSecond.median, 30);
  assert.deepEqual(first.ratios, {});
  assert.equal(second?.requestsPerSecond.median, 10);
  assert.equal(second.ratios.tritonts?.median, 3);
  assert.equal(second.ratios.tritonts.spread, 1);
});
