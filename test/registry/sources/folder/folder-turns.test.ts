/** Looks at folders that hang take few threads. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FolderTurns } from '../../../../src/registry/sources/folder/folder-turns.js';
import { rejection } from '../../../support/harness.js';

const limits = { lateMs: 100, patienceMs: 1000, atOnce: 2 };
const { signal } = new AbortController();

/** Looks that end when the test says so. */
class Looks {
  readonly turns: FolderTurns = new FolderTurns(limits);
  readonly begun: string[] = [];
  readonly #ends: Map<string, () => void> = new Map();

  look(place: string, of: AbortSignal = signal): Promise<string> {
    const look = async (): Promise<string> => {
      this.begun.push(place);
      await new Promise<void>((resolve) => this.#ends.set(place, resolve));
      return place;
    };
    const result = this.turns.run(place, look, of);
    result.catch(() => undefined);
    return result;
  }

  async end(place: string): Promise<void> {
    this.#ends.get(place)?.();
    await sleep(1);
  }
}

test('two hang, and the others fail with their names until one ends', async () => {
  const looks = new Looks();
  const all = ['a', 'b', 'c'].map((place) => looks.look(place));
  const [first, , third] = all;
  assert.ok(first && third);
  const refused = await rejection(third);
  assert.match(
    refused.message,
    /^model repository 'c' cannot be listed while there is no answer from 'a', 'b':/,
  );
  assert.equal(refused.code, 'UNAVAILABLE');
  const begun = performance.now();
  await rejection(looks.look('c'));
  assert.ok(performance.now() - begun < limits.patienceMs, 'later ones do not wait');
  assert.deepEqual(looks.begun, ['a', 'b']);
  await looks.end('a');
  assert.equal(await first, 'a');
  const again = looks.look('c');
  await looks.end('c');
  assert.equal(await again, 'c');
});

test('beside one that hangs the others take turns, and one that was late waits for it', async () => {
  const looks = new Looks();
  const [slow] = [looks.look('slow'), looks.look('dead')];
  await sleep(3 * limits.lateMs);
  await looks.end('slow');
  await slow;
  const waits = [looks.look('slow'), looks.look('x'), looks.look('y')];
  assert.deepEqual(looks.begun, ['slow', 'dead', 'x']);
  await looks.end('x');
  assert.deepEqual(looks.begun.slice(3), ['y']);
  await looks.end('y');
  assert.match(
    (await rejection(waits[0] ?? Promise.resolve())).message,
    /'slow' cannot be listed while.* 'dead'/,
  );
  await looks.end('dead');
  const last = looks.look('slow');
  await looks.end('slow');
  assert.equal(await last, 'slow');
});

test('a look that waits is cancelled', async () => {
  const looks = new Looks();
  for (const place of ['a', 'b']) void looks.look(place);
  const stop = new AbortController();
  const waits = looks.look('c', stop.signal);
  stop.abort();
  assert.equal((await rejection(waits)).code, 'CANCELLED');
  assert.equal((await rejection(looks.look('d', stop.signal))).code, 'CANCELLED');
  await looks.end('a');
  assert.deepEqual(looks.begun, ['a', 'b']);
});
