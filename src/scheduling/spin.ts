/** Decides whether idle threads spin for a moment before they sleep. */

import { addon } from '../addon/load.js';

/**
 * The number of cores that they may spin on: the server's without one for the JS thread, or 0 with
 * `TRITONTS_SPIN=0`. It is asked once a server, because finding out means reading the files of control
 * groups.
 *
 * @param threads - Number of cores that the server uses.
 */
export function spinCores(threads: number): number {
  if (process.env['TRITONTS_SPIN'] === '0') return 0;
  // A server may be told to use more cores than exist. Threads spin only on real ones.
  return Math.min(threads, addon().cores()) - 1;
}
