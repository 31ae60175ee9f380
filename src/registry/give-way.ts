/** Lets the event loop do other work during a long one. */

import { setImmediate } from '../timers.js';

/** How many steps may be in one turn of the event loop: some milliseconds, where a step is a few look-ups. */
const stepsInTurn = 4096;

/**
 * Returns a function for each step of a long work. It returns what the next step has to wait for; undefined: nothing.
 *
 * @param inTurn - How many steps may be in one turn, if one is more than a few look-ups.
 *
 * @example
 * const step = givingWay();
 * for (const one of many) {
 *   const turn = step();
 *   if (turn) await turn;
 * }
 */
export function givingWay(inTurn: number = stepsInTurn): () => Promise<void> | undefined {
  let steps = 0;
  return () =>
    ++steps % inTurn === 0 ? new Promise<void>((resolve) => void setImmediate(resolve)) : undefined;
}
