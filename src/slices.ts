/**
 * Runs long work on the event loop's thread in slices. All such work together gets one millisecond in each turn
 * of the loop. Short work is done at once.
 */

import { performance } from 'node:perf_hooks';
import { setImmediate } from './timers.js';
import { Queue } from './queue.js';

/** Work that yields wherever it can be interrupted, at least every few tenths of a millisecond. */
export type Sliced<T> = Generator<undefined, T, undefined>;

/** How long such work may hold the event loop in one turn, in milliseconds. */
const sliceMs = 1;

/** Adds up the cost of work, and says when the work should yield. */
export class Pace {
  /** Number of steps between two yields. A step takes some nanoseconds. */
  static readonly portion: number = 8192;
  #left = Pace.portion;

  /** Adds the cost of work done, in steps. Returns whether it is time to yield. */
  spent(steps: number): boolean {
    this.#left -= steps;
    if (this.#left > 0) return false;
    this.#left = Pace.portion;
    return true;
  }
}

/** Work together with its callbacks. */
interface Task {
  /** Runs the work until its next yield. Returns whether the work is done or has failed. */
  step(): boolean;
}

/** Tasks that wait for a later turn. They take turns, one step each. */
const waiting: Queue<Task> = new Queue();
/** When this turn's time for such work ends; undefined if none was done in this turn. */
let turnEnd: number | undefined;

function endOfTurn(): number {
  if (turnEnd === undefined) {
    turnEnd = performance.now() + sliceMs;
    setImmediate(() => (turnEnd = undefined)).unref();
  }
  return turnEnd;
}

function goOn(): void {
  const end = endOfTurn();
  // Do at least one step, so that the work ends on a slow machine, too.
  for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) {
    if (!task.step()) waiting.push(task);
    if (performance.now() >= end) break;
  }
  if (waiting.length > 0) setImmediate(goOn);
}

/**
 * Does work in slices: as much now as this turn of the event loop has time for, the rest in the next turns. The
 * work keeps the event loop alive until it is done.
 *
 * @param done - Receives the result. It is called before this returns if there is time enough. Neither it nor
 *   `failed` may throw.
 * @param failed - Receives the error that the work threw.
 */
export function inSlices<T>(
  work: Sliced<T>,
  done: (result: T) => void,
  failed: (error: unknown) => void,
): void {
  const task: Task = {
    step: () => {
      let next: IteratorResult<undefined, T>;
      try {
        next = work.next();
      } catch (error) {
        failed(error);
        return true;
      }
      if (next.done !== true) return false;
      done(next.value);
      return true;
    },
  };
  if (waiting.length === 0) {
    const end = endOfTurn();
    while (performance.now() < end) if (task.step()) return;
    setImmediate(goOn);
  }
  waiting.push(task);
}

/** Resolves when no work waits for a later turn. */
export async function slicesDone(): Promise<void> {
  while (waiting.length > 0) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Does work without a pause. */
export function atOnce<T>(work: Sliced<T>): T {
  for (;;) {
    const next = work.next();
    if (next.done === true) return next.value;
  }
}
