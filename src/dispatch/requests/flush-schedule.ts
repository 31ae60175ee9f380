/**
 * Schedules the flush of a tick's requests: after the promise jobs of this turn, so that requests of callers
 * behind async layers are included. For synchronous code, `process.nextTick` would run before those jobs; the
 * microtask in between lets them go first.
 */

import { nextTick } from 'node:process';

/** Has a flush. */
export interface Flushed {
  flush(run: boolean): void;
}

const now = Promise.resolve();

/** Schedules a flush that may run short batches on this thread. */
export function scheduleFlush(flushed: Flushed): void {
  nextTick(flushSoon, flushed);
}

function flushSoon(flushed: Flushed): void {
  // A promise, because queueMicrotask would create an AsyncResource for each call.
  void now.then(() => {
    nextTick(flushNow, flushed);
  });
}

function flushNow(flushed: Flushed): void {
  flushed.flush(true);
}
