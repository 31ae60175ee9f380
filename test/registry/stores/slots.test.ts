/** Which of the calls that wait for a store begins next. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../support/harness.js';
import { Slots } from '../../../src/registry/sources/store/slots.js';

/** Calls that run until they are ended, by name. */
class Calls {
  readonly begun: string[] = [];
  readonly goesOn: Map<string, () => void> = new Map();
  readonly #ends: Map<string, () => void> = new Map();

  readonly slots: Slots;

  constructor(slots: Slots) {
    this.slots = slots;
  }

  /** Begins a call of an owner. Its name begins with the owner. */
  add(name: string): void {
    void this.slots.run(name.slice(0, 1), async (goesOn) => {
      this.begun.push(name);
      this.goesOn.set(name, goesOn);
      await new Promise<void>((resolve) => this.#ends.set(name, resolve));
    });
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a free place goes to the owner that has the fewest calls', async () => {
  const calls = new Calls(new Slots(3));
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1']) calls.add(name);
  assert.deepEqual(calls.begun, ['a1', 'a2', 'a3']);
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1']) await calls.end(name);
  assert.deepEqual(calls.begun, ['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2', 'a5']);
});

test('an owner without a call waits for no other, up to the second bound', async () => {
  const calls = new Calls(new Slots(2, 4));
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'd1']) calls.add(name);
  assert.deepEqual(calls.begun, ['a1', 'a2', 'b1', 'c1']);
  // The first bound holds for those that have calls.
  await calls.end('a1');
  assert.deepEqual(calls.begun.slice(4), ['d1']);
  for (const name of ['c1', 'd1']) await calls.end(name);
  assert.deepEqual(calls.begun.slice(5), []);
  await calls.end('a2');
  assert.deepEqual(calls.begun.slice(5), ['a3']);
  for (const name of ['b1', 'a3']) await calls.end(name);
  assert.deepEqual(calls.begun.slice(6), ['b2']);
});

test('silent calls hold up no other, and count again when they go on', async () => {
  const calls = new Calls(new Slots(2, 2, 20));
  for (const name of ['a1', 'b1', 'c1', 'd1', 'e1']) calls.add(name);
  assert.deepEqual(calls.begun, ['a1', 'b1']);
  // Each of them is silent, so that two others begin.
  await until(() => calls.begun.length === 5);
  const alive = setInterval(() => {
    for (const name of ['a1', 'b1']) calls.goesOn.get(name)?.();
  }, 1);
  try {
    calls.goesOn.get('a1')?.();
    calls.goesOn.get('b1')?.();
    for (const name of ['c1', 'd1', 'e1']) await calls.end(name);
    calls.add('f1');
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.ok(!calls.begun.includes('f1'));
    await calls.end('a1');
    assert.ok(calls.begun.includes('f1'));
  } finally {
    clearInterval(alive);
  }
});

test('a call that fails frees its place', async () => {
  const slots = new Slots(1);
  await assert.rejects(
    slots.run('a', () => Promise.reject(new Error('no'))),
    /no/,
  );
  assert.equal(await slots.run('b', () => Promise.resolve(1)), 1);
});
