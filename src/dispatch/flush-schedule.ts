/**
 * When a tick's requests are flushed: after the promise jobs of this turn, so that callers behind async layers are in.
 * From synchronous code a tick runs before those jobs: the microtask between lets them go first there, too.
 */

import { nextTick } from 'node:process';

/** What is flushed. */
export interface Flushed {
  flush(run: boolean): void;
}

const now = Promise.resolve();

/** Has it flushed, with what may run here and now. */
export function scheduleFlush(flushed: Flushed): void {
  nextTick(flushSoon, flushed);
}

function flushSoon(flushed: Flushed): void {
  // As queueMicrotask, which makes an AsyncResource for what it calls.
  void now.then(() => {
    nextTick(flushNow, flushed);
  });
}

function flushNow(flushed: Flushed): void {
  flushed.flush(true);
}
