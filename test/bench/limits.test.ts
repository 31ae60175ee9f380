import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMet, limitsText, type Measured } from '../../bench/limits/limits.js';

function measured(median: number, spread: number, limit?: Measured['limit']): Measured {
  return {
    what: 'a thing',
    value: { median, spread, least: median, greatest: median },
    unit: 'x',
    ...(limit && { limit }),
  };
}

test('a figure is met within its spread, from above and from below', () => {
  assert.equal(isMet(measured(0.8, 0.1, { atLeast: 0.9 })), true);
  assert.equal(isMet(measured(0.8, 0.09, { atLeast: 0.9 })), false);
  assert.equal(isMet(measured(1.25, 0.25, { atMost: 1 })), true);
  assert.equal(isMet(measured(1.25, 0.2, { atMost: 1 })), false);
  assert.equal(isMet(measured(5, 0)), true);
});

test('the text ends with the figures that are missed', () => {
  assert.match(
    limitsText([measured(2, 0, { atMost: 1 }), measured(9, 0)]),
    /0 of 1 figures met\. Missed: a thing$/,
  );
  assert.match(limitsText([measured(1, 0, { atMost: 1 })]), /1 of 1 figures met$/);
});
