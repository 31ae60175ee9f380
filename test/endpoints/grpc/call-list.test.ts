/** The list of calls that have not ended. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallList, type Listed } from '../../../src/endpoints/grpc/call-list.js';

test('what was added and not taken out is in it, in whatever order that happens', () => {
  const list = new CallList<Listed>();
  const expected = new Set<Listed>();
  let state = 7;
  const dice = (sides: number): number => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * sides);
  };
  for (let i = 0; i < 5000; i++) {
    const all = [...expected];
    const one = dice(2) === 0 ? all[dice(all.length)] : undefined;
    if (one === undefined) {
      const made = { place: -1 };
      list.add(made);
      expected.add(made);
    } else {
      list.delete(one);
      expected.delete(one);
    }
    assert.equal(list.list().length, expected.size);
    assert.ok(list.list().every((each) => expected.has(each)));
  }
});
