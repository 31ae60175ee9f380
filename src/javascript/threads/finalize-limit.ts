/** Limits the time that models take to end: on a thread, in a process, or in this environment. */

import type { Log } from '../../logger.js';
import { endsWithin } from '../../time-limit.js';

/** How long an instance that was asked to end may go on running before it begins to finalize. */
export const busyMs = 2000;

/**
 * Waits for an instance that was asked to end. Returns false if its `finalize` takes longer than the limit.
 *
 * @param finalizing - Resolves when `finalize` begins. An instance that is still busy then is not waited for.
 * @param ended - Resolves when the instance has ended.
 */
export async function finalizesWithin(
  finalizing: Promise<unknown>,
  ended: Promise<unknown>,
  limitMs: number,
): Promise<boolean> {
  if (!(await endsWithin(Promise.race([finalizing, ended]), busyMs))) return true;
  return endsWithin(ended, limitMs);
}

/** Logs that a model has not finalized in time. */
export function logLateFinalize(log: Log, model: string, limitMs: number, then: string): void {
  log.warn(`model '${model}': finalize did not end within ${limitMs / 1000} s (finalizeTimeoutMs); ${then}`, {
    model,
  });
}
