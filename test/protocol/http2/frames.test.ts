/** Frames: they are the same in whatever pieces they come; their settings are checked. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionError } from '../../../src/protocol/http2/errors.js';
import { frameOf, FrameReader } from '../../../src/protocol/http2/frames.js';
import { readSettings, writeSettings } from '../../../src/protocol/http2/settings.js';
import { Dice } from '../../requests/dice.js';

/** The frames in these pieces. Those of type 0 come in pieces, too. */
function framesIn(pieces: readonly Buffer[]): string[] {
  const found: string[] = [];
  let head = '';
  let parts: Buffer[] = [];
  let collects = false;
  const reader = new FrameReader({
    begin(length, type, flags, stream) {
      head = `${type} ${flags} ${stream} ${length}`;
      collects = type !== 0;
      parts = [];
      return collects;
    },
    payload(bytes) {
      parts.push(Buffer.from(bytes));
    },
    end() {
      if (collects) assert.equal(parts.length, 1);
      found.push(`${head}: ${Buffer.concat(parts).toString('hex')}`);
    },
  });
  for (const piece of pieces) reader.push(piece);
  return found;
}

test('frames in whatever pieces', () => {
  const dice = new Dice(3);
  for (let round = 0; round < 300; round++) {
    const expected: string[] = [];
    const all: Buffer[] = [];
    for (let i = 1 + dice.below(5); i > 0; i--) {
      const payload = Buffer.from(Array.from({ length: dice.below(60) }, () => dice.below(256)));
      const [type, flags, stream] = [dice.below(3), dice.below(256), dice.below(2 ** 31)];
      all.push(frameOf(type, flags, stream, payload));
      expected.push(`${type} ${flags} ${stream} ${payload.length}: ${payload.toString('hex')}`);
    }
    const bytes = Buffer.concat(all);
    assert.deepEqual(framesIn([bytes]), expected);
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length;) {
      const end = at + 1 + dice.below(dice.below(3) === 0 ? 1 : 40);
      pieces.push(bytes.subarray(at, end));
      at = end;
    }
    assert.deepEqual(framesIn(pieces), expected);
  }
});

test('the first bit of a stream means nothing, and a stopped reader reads nothing', () => {
  const frame = frameOf(1, 0, 5, Buffer.of(1));
  frame[5] = 0x80;
  assert.deepEqual(framesIn([frame]), ['1 0 5 1: 01']);
  let count = 0;
  const reader: FrameReader = new FrameReader({
    begin: () => true,
    payload: () => {
      count++;
      reader.stop();
    },
    end: () => undefined,
  });
  reader.push(Buffer.concat([frame, frame]));
  reader.push(frame);
  assert.equal(count, 1);
});

test('settings', () => {
  assert.deepEqual(
    readSettings(
      writeSettings([
        [1, 0],
        [1, 8192],
        [2, 1],
        [3, 5],
        [4, 2 ** 31 - 1],
        [5, 16_384],
        [0xffff, 2 ** 32 - 1],
      ]),
    ),
    { tableBytes: 0, initialWindow: 2 ** 31 - 1, frameBytes: 16_384 },
  );
  const wrong: readonly (readonly [id: number, value: number, code: number])[] = [
    [2, 2, 1],
    [4, 2 ** 31, 3],
    [5, 16_383, 1],
    [5, 2 ** 24, 1],
  ];
  for (const [id, value, code] of wrong)
    assert.throws(
      () => readSettings(writeSettings([[id, value]])),
      (error) => error instanceof ConnectionError && error.code === code,
    );
  assert.throws(
    () => readSettings(Buffer.alloc(7)),
    (error) => error instanceof ConnectionError && error.code === 6,
  );
});
