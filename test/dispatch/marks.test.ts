/** Requests of sequences: which share a group, and how their sequences are written. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { submissionWords } from '../../src/addon/layout.js';
import { markWords, mostMarkWords, writeMark } from '../../src/dispatch/requests/marks.js';
import type { SequenceMark } from '../../src/dispatch/types.js';
import { Bench } from './harness.js';

function mark(id: bigint | string, flags = ''): SequenceMark {
  return { id, start: flags.includes('S'), end: flags.includes('E') };
}

test('requests of many sequences share a group, but not with requests of none', async () => {
  const bench = new Bench();
  const marks = [mark(5n), mark(2n ** 64n - 1n, 'S'), mark('text', 'SE'), mark(5n), mark('ü'.repeat(64))];
  const asked = [];
  for (let round = 0; round < 3; round++) {
    bench.version.groupRoom = 64;
    for (let i = 0; i < 3; i++) asked.push(bench.ask([i]));
    for (const [i, sequence] of marks.entries()) asked.push(bench.ask([3 + i], { sequence }));
    asked.push(bench.ask([8], { sequence: mark(7n), attributes: Int32Array.of(1, 0, 0, 0, 0) }));
    asked.push(bench.ask([9]));
    await turn();
    assert.deepEqual(
      bench.port.sent.map(({ count }) => count),
      [3, 5, 1, 1],
    );
    assert.deepEqual(
      bench.port.sent.map(({ marks: sent }) => sent),
      [[], marks, [mark(7n)], []],
    );
    bench.echo();
  }
  await bench.settled(asked);
  assert.deepEqual(
    asked.map(({ outcome }) => outcome),
    Array.from({ length: 30 }, (_, i) => [i % 10]),
  );
  await bench.idle();
});

test('one object of options for many requests writes its sequence for each', async () => {
  const bench = new Bench();
  bench.version.groupRoom = 8;
  const options = { sequence: mark(9n) };
  await bench.askMany(3, options);
  assert.deepEqual(bench.port.sent[0]?.marks, [mark(9n), mark(9n), mark(9n)]);
  bench.echo();
  await bench.idle();
});

test('a group whose sequences might not fit in a record has one request', async () => {
  const bench = new Bench();
  bench.version.groupRoom = bench.version.mostRoom;
  const most = submissionWords - bench.version.mostRoom * mostMarkWords;
  for (const [words, groups] of [
    [most / 2, 1],
    [most, 2],
  ] as const) {
    const attributes = new Int32Array(Math.min(words, 65_535));
    const asked = [mark('x'.repeat(128)), mark('y')].map((sequence) =>
      bench.ask([1], { sequence, attributes }),
    );
    await turn();
    assert.equal(bench.port.sent.length, groups);
    bench.echo();
    await bench.settled(asked);
  }
  await bench.idle();
});

test('a sequence is its flags and length, and the number or the text', () => {
  const words = new Int32Array(64);
  const bytes = Buffer.from(words.buffer);
  const number = mark(2n ** 33n + 7n, 'S');
  assert.equal(writeMark(words, bytes, 2, number), 5);
  assert.equal(markWords(number), 3);
  assert.deepEqual([...words.subarray(2, 5)], [1, 7, 2]);
  const text = mark('abcde', 'SE');
  assert.equal(writeMark(words, bytes, 3, text), 6);
  assert.equal(markWords(text), 3);
  const [first, second] = new Int32Array(new TextEncoder().encode('abcde\0\0\0').buffer);
  assert.equal(words[3], 3 | (5 << 8));
  assert.equal(words[4], first);
  assert.equal((words[5] ?? 0) & 0xff, (second ?? 0) & 0xff);
  const longest = mark('é'.repeat(64));
  assert.equal(markWords(longest), mostMarkWords);
  assert.equal(writeMark(words, bytes, 0, longest), mostMarkWords);
});
