import assert from 'node:assert/strict';
import { performance } from 'node:perf_hooks';
import test from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { turnIsYoung } from '../../src/dispatch/requests/turn.js';

test('a turn of the event loop is young for 0.75 ms after its first answer', async (t) => {
  let now = 1000;
  t.mock.method(performance, 'now', () => now);
  for (let turn = 0; turn < 3; turn++) {
    assert.equal(turnIsYoung(), true);
    now += 0.7;
    assert.equal(turnIsYoung(), true);
    now += 0.1;
    assert.equal(turnIsYoung(), false);
    // Without a new turn of the loop, the turn stays old, however long nobody asks.
    now += 100;
    assert.equal(turnIsYoung(), false);
    await setImmediate();
  }
});
