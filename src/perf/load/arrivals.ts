/** When requests are sent at a rate: the time from one to the next. */

import type { Random } from '../inputs/random.js';

/** Returns the time until the next request, in milliseconds. */
export type Arrivals = () => number;

/** Equal times between requests. */
export function constantArrivals(requestsPerSecond: number): Arrivals {
  const gapMs = 1000 / requestsPerSecond;
  return () => gapMs;
}

/** Times between the requests of callers that know nothing of one another: a Poisson process. */
export function poissonArrivals(requestsPerSecond: number, random: Random): Arrivals {
  const meanMs = 1000 / requestsPerSecond;
  return () => -Math.log(1 - random()) * meanMs;
}

/**
 * Given times between requests, which begin anew after the last one.
 *
 * @param intervalsMs - At least one, of at least 0, with a sum above 0.
 */
export function givenArrivals(intervalsMs: readonly number[]): Arrivals {
  let at = 0;
  return () => intervalsMs[at++ % intervalsMs.length] ?? 0;
}
