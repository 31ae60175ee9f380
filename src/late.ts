/** Tells of foreign code that does not return, such as a plug-in's initialiser that hangs. */

import type { Log, LogContext } from './logger.js';
import { clearTimeout, setTimeout } from './timers.js';

/** How long foreign code may take before the log tells, in milliseconds. */
export const lateMs = 60_000;

/**
 * The same promise. The log has a warning if it has not settled in time.
 *
 * @param what - Begins the warning: who has not done what.
 * @param ms - Replaces {@link lateMs} in tests.
 */
export async function tellIfLate<T>(
  log: Log,
  what: string,
  fields: LogContext,
  promise: Promise<T>,
  ms: number = lateMs,
): Promise<T> {
  const timer = setTimeout(() => {
    log.warn(`${what} after ${ms / 1000} s`, fields);
  }, ms).unref();
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}
