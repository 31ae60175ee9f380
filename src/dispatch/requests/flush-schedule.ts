/**
 * Schedules the flush of a tick's requests after the promise jobs of this turn, so that requests of callers
 * behind async layers are included. In synchronous code, `process.nextTick` alone would run before those jobs;
 * the microtask in between lets them run first.
 */

import { nextTick } from 'node:process';

/** An object that can be flushed. */
export interface Flushed {
  flush(run: boolean): void;
}

const now = Promise.resolve();

/** Schedules a flush that may run short batches on this thread. */
export function scheduleFlush(flushed: Flushed): void {
  nextTick(flushSoon, flushed);
}

function flushSoon(flushed: Flushed): void {
  // A promise is used because queueMicrotask would create an AsyncResource for each call.
  void now.then(() => {
    nextTick(flushNow, flushed);
  });
}

function flushNow(flushed: Flushed): void {
  flushed.flush(true);
}
