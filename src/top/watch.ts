/** Reads a server again and again, and tells what happened between two readings. */

import { setTimeout as sleep } from 'node:timers/promises';
import { TritonError } from '../errors.js';
import { thrownText } from '../thrown-text.js';
import { figuresBetween, momentOf, type Moment, type TopFigures } from './figures/top-figures.js';
import type { TopSource } from './reading.js';

/** What a reading gave. */
export type Outcome = { readonly figures: TopFigures } | { readonly failure: string };

/**
 * Yields an outcome for each reading. The first one after a server answers, or answers again, has no rates.
 *
 * @param intervalMs - From the begin of a reading to that of the next one.
 * @param signal - Ends the readings.
 */
export async function* watch(
  source: TopSource,
  intervalMs: number,
  signal: AbortSignal,
): AsyncGenerator<Outcome, undefined> {
  let before: Moment | undefined;
  for (;;) {
    const begun = performance.now();
    let outcome: Outcome;
    try {
      const moment = momentOf(await source.read(signal));
      outcome = { figures: figuresBetween(before, moment) };
      before = moment;
    } catch (error) {
      // The time without an answer belongs to no rate: the next reading is a first one.
      before = undefined;
      outcome = {
        failure: error instanceof TritonError ? `${error.code}: ${error.message}` : thrownText(error),
      };
    }
    if (signal.aborted) return undefined;
    yield outcome;
    try {
      await sleep(Math.max(0, intervalMs - (performance.now() - begun)), undefined, { signal });
    } catch {
      return undefined;
    }
  }
}
