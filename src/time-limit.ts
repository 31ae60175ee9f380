/** Limits how long something is waited for, in real time: fake timers of a test do not move it. */

import { clearTimeout, setTimeout } from './timers.js';

/** The longest delay of Node's timers, in milliseconds. A timer with a longer one fires at once. */
export const longestTimerMs: number = 2 ** 31 - 1;

/** How long an unload waits for running requests by default (`workers.unloadTimeoutMs`), in milliseconds. */
export const defaultUnloadTimeoutMs = 30_000;

/** Whether a promise, which does not reject, resolves within a time. */
export async function endsWithin(ended: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, longestTimerMs), false);
  });
  try {
    return await Promise.race([ended.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
