/**
 * The age of the current turn of the event loop, measured from its first delivery.
 *
 * A batch that runs on the JS thread is answered in the same turn while the turn is young. So a caller that
 * awaits one response after another does not wait for a turn of the loop each time. But promises that settle in
 * ticks delay timers and sockets, so later responses wait for the next turn. All ports of an environment share
 * its turns.
 */

import { performance } from 'node:perf_hooks';
import { setImmediate } from '../../timers.js';

/**
 * How long responses may be delivered in one turn, in milliseconds. A timer may be late by this time and the
 * last batch.
 */
const youthMs = 0.75;

/** When this turn delivered its first response; undefined if it has delivered none. */
let began: number | undefined;

function end(): void {
  began = undefined;
}

/** Whether responses may still be delivered in this turn of the loop. */
export function turnIsYoung(): boolean {
  const now = performance.now();
  if (began !== undefined) return now - began < youthMs;
  began = now;
  setImmediate(end);
  return true;
}
