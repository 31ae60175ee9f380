import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Calls } from '../../src/client/calls.js';
import { Broken } from '../../src/client/failures.js';

/** A call whose connection breaks each time. */
class Breaking {
  attempts = 0;
  /** Its error. */
  readonly end: Promise<unknown>;

  constructor(calls: Calls, signal?: AbortSignal) {
    const once = (): Promise<never> => {
      this.attempts++;
      return Promise.reject(signal?.aborted === true ? new Error('cancelled') : new Broken('no answer', {}));
    };
    this.end = calls.retrying(once, () => true, signal).catch((error: unknown) => error);
  }
}

/** A pause that does not end by itself while a test runs. */
const longMs = 1_000_000;

test('a call that pauses before a retry fails as it did when its connection is closed', async () => {
  const calls = new Calls(1, longMs);
  const call = new Breaking(calls);
  assert.equal(call.attempts, 1);
  // A turn later it pauses.
  await new Promise(setImmediate);
  await calls.end(1000);
  assert.ok((await call.end) instanceof Broken);
  assert.equal(call.attempts, 1);
});

test('a signal ends the pause before a retry', async () => {
  const calls = new Calls(1, longMs);
  const abort = new AbortController();
  const call = new Breaking(calls, abort.signal);
  await new Promise(setImmediate);
  abort.abort();
  assert.match(String(await call.end), /cancelled/);
  assert.equal(call.attempts, 2);
});

test('the end waits for calls under way, and no longer than its limit', async () => {
  const calls = new Calls(0);
  let cancelled = 0;
  const cancel = (): void => {
    cancelled++;
    calls.ended(cancel);
  };
  calls.began(cancel);
  const end = calls.end(2 ** 40);
  calls.ended(cancel);
  await end;
  assert.equal(cancelled, 0);

  calls.began(cancel);
  await calls.end(1);
  assert.equal(cancelled, 1);
});
