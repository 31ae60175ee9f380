/** Decides whether idle threads spin briefly before they sleep. */

import { addonUnlessSpared } from '../addon/load.js';

/**
 * The number of cores that idle threads may spin on: the server's cores except one for the JS thread, or 0 with
 * `TRITONTS_SPIN=0`. It is determined once per server, because that requires reading the cgroup files.
 *
 * @param threads - Number of cores that the server uses.
 */
export function spinCores(threads: number): number {
  if (process.env['TRITONTS_SPIN'] === '0') return 0;
  // A server may be configured with more cores than exist. Threads spin only on real ones, and not on a part of one: a
  // spin that used up a quota would stop the whole process for a while.
  return Math.min(threads, addonUnlessSpared()?.wholeCores() ?? 1) - 1;
}
