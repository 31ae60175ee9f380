/** Whether threads that have nothing to do spin for a moment before they sleep. */

import { addon } from '../addon/load.js';

/** Cores that there are: to find out takes the files of control groups, too long for each of many models. */
let present: number | undefined;

/**
 * Cores that they may spin on: those of the server but the JS thread's; 0 with `TRITONTS_SPIN=0`.
 *
 * @param threads - Cores that the server uses.
 */
export function spinCores(threads: number): number {
  if (process.env['TRITONTS_SPIN'] === '0') return 0;
  // However many it was told to use, more than there are do not spin.
  return Math.min(threads, (present ??= addon().cores())) - 1;
}
