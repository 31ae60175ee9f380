import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Queue } from '../src/queue.js';

test('a queue gives back what it got, in order, while it grows and goes round', () => {
  const queue = new Queue<number>();
  let pushed = 0;
  let taken = 0;
  // Three go in and two come out, so the ring gets full at every possible place of its head.
  for (let step = 0; step < 200; step++) {
    for (let i = 0; i < 3; i++) queue.push(pushed++);
    for (let i = 0; i < 2; i++) assert.equal(queue.shift(), taken++);
    assert.equal(queue.peek(), taken);
    assert.equal(queue.length, pushed - taken);
  }
  while (taken < pushed) assert.equal(queue.shift(), taken++);
  assert.equal(queue.shift(), undefined);
  assert.equal(queue.peek(), undefined);
  assert.equal(queue.length, 0);
  queue.push(7);
  assert.equal(queue.shift(), 7);
});
