/**
 * Long work of the event loop's thread, in slices: all of it together has a millisecond of each turn of the loop. What is
 * short is done at once.
 */

import { performance } from 'node:perf_hooks';
import { setImmediate } from './dispatch/ending/timers.js';
import { Queue } from './queue.js';

/** Work that yields wherever it can be interrupted: at the latest after some tenth of a millisecond. */
export type Sliced<T> = Generator<undefined, T, undefined>;

/** For so long such work holds the event loop in one turn, in milliseconds. */
const sliceMs = 1;

/** Counts what work has cost, so that it knows when to yield. */
export class Pace {
  /** So many steps that take some nanoseconds each are done between two yields. */
  static readonly portion: number = 8192;
  #left = Pace.portion;

  /** Adds the cost of what was done, in such steps. Returns whether it is time to yield. */
  spent(steps: number): boolean {
    this.#left -= steps;
    if (this.#left > 0) return false;
    this.#left = Pace.portion;
    return true;
  }
}

/** Work with what follows it. */
interface Task {
  /** Goes on until it can be interrupted. Returns whether it is done, or has failed. */
  step(): boolean;
}

/** Those that wait for a later turn. Each goes on for one step, then the next one does. */
const waiting: Queue<Task> = new Queue();
/** Until when work may be done in this turn; undefined: none was done in it. */
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
  // One step at least: the work of a slow machine ends, too.
  for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) {
    if (!task.step()) waiting.push(task);
    if (performance.now() >= end) break;
  }
  if (waiting.length > 0) setImmediate(goOn);
}

/**
 * Does work in slices: as much as this turn of the event loop has room for now, the rest in the next ones. Until it is done
 * it keeps the loop alive.
 *
 * @param done - Takes the result, in here if there is time enough. Neither it nor `failed` throws.
 * @param failed - Takes what the work has thrown.
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
