/** The queue that models share. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairQueue } from '../../../src/endpoints/openai/fair-queue.js';

/** Takes entries as long as there are any; each takes the time that is given for its model. */
function taken(queue: FairQueue<string>, times: Readonly<Record<string, number>>, most = Infinity): string {
  let all = '';
  for (let count = 0; count < most; count++) {
    const next = queue.shift();
    if (next === undefined) break;
    all += next.entry;
    queue.used(next.model, times[next.model] ?? 0);
  }
  return all;
}

function filled(queue: FairQueue<string>, entries: string): FairQueue<string> {
  for (const one of entries) queue.push(one.toLowerCase(), one);
  return queue;
}

test('a model that takes long lets others run for as long', () => {
  const queue = filled(new FairQueue<string>(100), 'aaaabbbbbbbb');
  assert.equal(taken(queue, { a: 4, b: 1 }), 'abbbbabbbbaa');
});

test('entries of a model keep their order', () => {
  assert.equal(taken(filled(new FairQueue<string>(100), 'aAaA'), { a: 1 }), 'aAaA');
});

test('a model that was away has no time in hand, and none that is forgiven', () => {
  const queue = filled(new FairQueue<string>(100), 'aaaa');
  assert.equal(taken(queue, { a: 10 }), 'aaaa');
  // b has used nothing, but begins where a is.
  assert.equal(taken(filled(queue, 'bbbbaa'), { a: 10, b: 10 }), 'bababb');
  // One long entry of b counts when it comes back at once.
  assert.equal(taken(filled(queue, 'ba'), { b: 50, a: 1 }), 'ab');
  assert.equal(taken(filled(queue, 'baaa'), { b: 50, a: 1 }), 'aaab');
});

test('who has the most makes room', () => {
  const queue = new FairQueue<string>(3);
  for (const one of ['a1', 'a2', 'a3']) assert.equal(queue.push('a', one), undefined);
  assert.equal(queue.push('a', 'a4'), 'a4');
  assert.equal(queue.push('b', 'b1'), 'a3');
  // Now a has two, and b one: b gains nothing.
  assert.equal(queue.push('b', 'b2'), 'b2');
  assert.equal(queue.push('c', 'c1'), 'a2');
  assert.equal(queue.push('d', 'd1'), 'd1');
  assert.equal(taken(queue, { a: 1, b: 1, c: 1 }), 'a1b1c1');
});
