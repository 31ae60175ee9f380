/** Requests of a sequence, which share no group. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { parameterSequence, sequenceEnd, sequenceStart } from '../../src/addon/layout.js';
import { encodeAttributes } from '../../src/server/requests/request-attributes.js';
import { Bench } from './harness.js';

const none = { priority: undefined, timeoutUs: undefined, parameters: undefined };

test('requests of a sequence are groups of one, whatever is beside them, and other groups keep their room', async () => {
  const bench = new Bench();
  bench.version.groupRoom = 64;
  const attributes = encodeAttributes('m', { ...none, sequence: { id: 5n, start: false, end: false } });
  const one = { attributes, alone: true };
  const asked = [];
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 3; i++) asked.push(bench.ask([i]));
    for (let i = 3; i < 6; i++) asked.push(bench.ask([i], one));
    for (let i = 6; i < 9; i++) asked.push(bench.ask([i]));
    await turn();
    assert.deepEqual(
      bench.port.sent.map(({ count }) => count),
      [3, 1, 1, 1, 3],
    );
    bench.echo();
  }
  await bench.settled(asked);
  assert.deepEqual(
    asked.map(({ outcome }) => outcome),
    Array.from({ length: 27 }, (_, i) => [i % 9]),
  );
  // Only the groups of three have made it smaller.
  assert.equal(bench.version.groupRoom, 8);
  await bench.idle();
});

test('the record of a sequence has the number, the flags and the text', () => {
  const words = encodeAttributes('m', { ...none, sequence: { id: 2n ** 33n + 7n, start: true, end: false } });
  assert.deepEqual([...(words ?? [])], [0, 0, 0, 0, 1, parameterSequence, 0, 12, 7, 2, sequenceStart]);
  const text = encodeAttributes('m', {
    ...none,
    priority: 3,
    sequence: { id: 'abcde', start: true, end: true },
  });
  const [first, second] = new Int32Array(new TextEncoder().encode('abcde\0\0\0').buffer);
  const head = [3, 0, 0, 0, 1, parameterSequence, 5, 12];
  assert.deepEqual([...(text ?? [])], [...head, first, second, 0, 0, sequenceStart | sequenceEnd]);
});
