/** Whether threads that have nothing to do spin for a moment before they sleep. */

import { addon } from '../addon/load.js';

/**
 * Cores that they may spin on: those of the server but the JS thread's; 0 with `TRITONTS_SPIN=0`. Once a server: to find out
 * reads the files of control groups.
 *
 * @param threads - Cores that the server uses.
 */
export function spinCores(threads: number): number {
  if (process.env['TRITONTS_SPIN'] === '0') return 0;
  // However many it was told to use, more than there are do not spin.
  return Math.min(threads, addon().cores()) - 1;
}
