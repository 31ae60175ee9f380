import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Wait } from '../src/waits.js';

const load = (model: string): Wait => new Wait('load', `load of '${model}'`);

test('a circle of waits is seen over any number of them, and told without those that have no words', () => {
  const [a, b, c] = [load('a'), load('b'), load('c')];
  assert.equal(a.circleWith(b), undefined);
  const part = new Wait('load', '');
  a.begin(part);
  part.begin(b);
  b.begin(c);
  assert.equal(c.circleWith(a), undefined);
  assert.equal(a.circleWith(c), "load of 'c' → load of 'a' → load of 'b' → load of 'c'");
  assert.equal(a.circleWith(part), "load of 'a' → load of 'a'");
  assert.equal(a.circleWith(a), "load of 'a' → load of 'a'");
});

test('a load behind another one of its model is said once', () => {
  const [first, second, other] = [load('a'), load('a'), load('b')];
  second.begin(first);
  assert.equal(second.circleWith(first), "load of 'a' → load of 'a'");
  first.begin(other);
  assert.equal(second.circleWith(other), "load of 'b' → load of 'a' → load of 'b'");
});

test('what has ended, or is awaited no more, makes no circle', () => {
  const [a, b, c] = [load('a'), load('b'), load('c')];
  const end = a.begin(b);
  const again = a.begin(b);
  end();
  assert.notEqual(a.circleWith(b), undefined);
  again();
  assert.equal(a.circleWith(b), undefined);
  a.begin(b);
  b.begin(c);
  b.end();
  assert.equal(b.ended, true);
  assert.equal(a.circleWith(c), undefined);
  // A wait that has ended does not block later ones.
  b.begin(a);
  assert.equal(b.circleWith(a), undefined);
});

test('circles that are there already do not hold up the search', () => {
  const [a, b, c] = [load('a'), load('b'), load('c')];
  a.begin(b);
  b.begin(a);
  assert.equal(a.circleWith(c), undefined);
});
