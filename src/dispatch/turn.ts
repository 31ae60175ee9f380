/**
 * The age of the event loop's present turn, as far as we made it.
 *
 * What runs on the JS thread is answered in the same turn while that is young: a caller that awaits one answer after
 * the other then pays for no turn of the loop. But promises that settle in ticks keep timers and sockets out, so later
 * answers wait for the next turn. All ports of an environment share its turns.
 */

import { performance } from 'node:perf_hooks';
import { setImmediate } from './timers.js';

/** How long answers of one turn may go on, in milliseconds; a timer is late by that and the last batch. */
const youthMs = 0.75;

/** When this turn gave its first answer; undefined: it gave none yet. */
let began: number | undefined;

function end(): void {
  began = undefined;
}

/** Whether answers may still be given in this turn of the loop. */
export function turnIsYoung(): boolean {
  const now = performance.now();
  if (began !== undefined) return now - began < youthMs;
  began = now;
  setImmediate(end);
  return true;
}
