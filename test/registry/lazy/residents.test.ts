/** The choice of the model that is unloaded first, with the engine's numbers of each model given by the test. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NativeServer } from '../../../src/addon/native/server.js';
import type { ModelEntry } from '../../../src/registry/entries/model-entry.js';
import { guessedSize, scaleOf, sizeAfter, sizeNow, type Size } from '../../../src/registry/lazy/memory.js';
import { until } from '../../support/harness.js';
import { Residents } from '../../../src/registry/lazy/residents.js';

interface Fact {
  lastMs: number;
  idle: boolean;
  live?: number;
}

/** Models with these facts; the uid of each is its place in the list. */
function residents(
  facts: readonly Fact[],
  pinned: readonly number[] = [],
  needed: readonly number[] = [],
  requests = 1,
): { readonly list: Residents; readonly entries: readonly ModelEntry[] } {
  const later = Date.now() + 10;
  const counts = (uid: number): unknown => {
    const done = { count: requests, ns: 1 };
    return { lastInferenceMs: later + (facts[uid]?.lastMs ?? 0), success: done, fail: done, refused: 0 };
  };
  // The parts of the engine and of a model that the choice reads.
  const server = {
    statistics: counts,
    isIdle: (uid: number) => facts[uid]?.idle === true,
    metrics: (uid: number) => ({ sequences: { live: facts[uid]?.live ?? 0 } }),
  } as unknown as NativeServer;
  const entries = facts.map(({ live }, uid) => {
    const config = { ...(live !== undefined && { sequence_batching: {} }) };
    return {
      isBusy: false,
      published: () => ({ versions: [{ descriptor: { uid, config } }] }),
    } as unknown as ModelEntry;
  });
  const list = new Residents(server, (entry) => needed.includes(entries.indexOf(entry)));
  for (const [i, entry] of entries.entries()) list.add(entry, pinned.includes(i));
  return { list, entries };
}

test('the one that was used the longest time ago goes first, by what the engine says now', () => {
  const facts: Fact[] = [3, 1, 2].map((lastMs) => ({ lastMs, idle: true }));
  const { list, entries } = residents(facts);
  assert.equal(list.leastRecentlyUsed(new Set()), entries[1]);
  facts[1] = { lastMs: 9, idle: true };
  assert.equal(list.leastRecentlyUsed(new Set()), entries[2]);
  facts[2] = { lastMs: 10, idle: true };
  assert.equal(list.leastRecentlyUsed(new Set()), entries[0]);
});

test('busy, pinned and needed models, those with live sequences and those that are left out, do not go', () => {
  const facts: Fact[] = [
    { lastMs: 0, idle: false },
    { lastMs: 1, idle: true },
    { lastMs: 2, idle: true },
    { lastMs: 3, idle: true, live: 1 },
    { lastMs: 4, idle: true, live: 0 },
    { lastMs: 5, idle: true },
  ];
  const { list, entries } = residents(facts, [1], [2]);
  assert.equal(list.leastRecentlyUsed(new Set()), entries[4]);
  assert.equal(list.leastRecentlyUsed(new Set(entries.slice(4, 5))), entries[5]);
  assert.equal(list.leastRecentlyUsed(new Set(entries.slice(4))), undefined);
  assert.equal(list.mayBecomeIdle(new Set()), true);
  assert.equal(list.mayBecomeIdle(new Set(entries)), false);
});

test('a model that nobody has used goes after its grace, also when the clock was set back meanwhile', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const { list, entries } = residents([{ lastMs: 0, idle: true }], [], [], 0);
  t.mock.timers.setTime(Date.now() - 3_600_000);
  assert.equal(list.leastRecentlyUsed(new Set()), undefined);
  await until(() => list.leastRecentlyUsed(new Set()) === entries[0]);
});

const mib = 2 ** 20;
const nothing = { told: 0, besides: 0 };

test('estimates are what the first load measures, and change slowly', () => {
  const first = sizeAfter(3 * mib, nothing, guessedSize(mib), undefined);
  assert.deepEqual([first.bytes, first.isMeasured, first.isDoubtful], [3 * mib, true, false]);
  assert.equal(sizeAfter(0, nothing, guessedSize(mib), undefined).bytes, mib / 2);
  const ten: Size = { ...first, bytes: 10 * mib, rest: 10 * mib };
  for (const [grown, after] of [
    [0, 9.5],
    [15, 10.5],
    [900, 11],
  ] as const)
    assert.equal(sizeAfter(grown * mib, nothing, ten, mib).bytes, after * mib);
  assert.equal(sizeAfter(-5, nothing, { ...first, bytes: 0, rest: 0 }, mib).bytes, 64 * 1024);
});

test('what a runtime says bounds what a load measures, whatever else the process takes meanwhile', () => {
  const found = { told: 24 * mib, besides: 0 };
  const poisoned = sizeAfter(2000 * mib, found, guessedSize(mib), undefined);
  assert.deepEqual([poisoned.bytes, poisoned.isDoubtful], [31 * mib, false]);
  // A process that does not grow, because it had free memory, has the model all the same.
  assert.equal(sizeAfter(0, found, guessedSize(mib), undefined).bytes, 24 * mib + 64 * 1024);
  assert.equal(sizeAfter(-100 * mib, found, poisoned, mib).bytes, 24 * mib + Math.round(0.95 * 7 * mib));
  // It takes more at its first request.
  assert.equal(sizeNow({ told: 40 * mib, besides: 0 }, poisoned).bytes, 47 * mib);
});

test('what processes of a model take counts', () => {
  const found = { told: 0, besides: 50 * mib };
  assert.equal(sizeAfter(2 * mib, found, guessedSize(mib), undefined).bytes, 52 * mib);
  assert.equal(
    sizeNow({ told: 0, besides: 60 * mib }, sizeAfter(2 * mib, found, guessedSize(mib), mib)).bytes,
    62 * mib,
  );
});

test('a first measurement far above that of other models is confirmed by the next load', () => {
  const doubtful = sizeAfter(500 * mib, nothing, guessedSize(mib), 3 * mib);
  assert.deepEqual([doubtful.bytes, doubtful.isDoubtful], [500 * mib, true]);
  const after = sizeAfter(5 * mib, nothing, doubtful, 3 * mib);
  assert.deepEqual([after.bytes, after.isDoubtful], [5 * mib, false]);
  assert.equal(sizeAfter(900 * mib, nothing, doubtful, 3 * mib).bytes, 500 * mib);
  assert.equal(sizeAfter(11 * mib, nothing, guessedSize(mib), 3 * mib).isDoubtful, false);
});

test('a model that was loaded beside others has a guess until its runtime tells', () => {
  const guess = guessedSize(10 * mib);
  assert.deepEqual(sizeNow(nothing, guess), guess);
  const told = sizeNow({ told: 4 * mib, besides: 0 }, guess);
  assert.deepEqual([told.bytes, told.isMeasured], [5 * mib, true]);
});

test('the growth of the process corrects the estimates, within limits', () => {
  assert.equal(scaleOf(300, 200, 4), 1.5);
  assert.equal(scaleOf(300, 200, 3), 1);
  assert.equal(scaleOf(900, 200, 4), 2);
  assert.equal(scaleOf(10, 200, 4), 0.5);
  assert.equal(scaleOf(10, 0, 4), 1);
});
