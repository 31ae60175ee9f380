/** Makes correlation ids for sequences whose callers give none. */

import { randomInt } from 'node:crypto';
import { threadId } from 'node:worker_threads';

/**
 * Ids are numbers from 2^62 to 2^63 - 1, which integers of 64 bits with and without a sign can hold. Programs rarely
 * choose such ids themselves. The number of the thread keeps ids of a process apart. The counter begins at random, so
 * that those of two processes differ, too.
 */
const first = 2n ** 62n;
const counterBits = 48n;
const counters = 2 ** 48;
const threads = 2 ** 14;

let counter = randomInt(counters - 1);

/** An id that no other sequence of this process has. */
export function newSequenceId(): bigint {
  counter = (counter + 1) % counters;
  return first + (BigInt(threadId % threads) << counterBits) + BigInt(counter);
}
