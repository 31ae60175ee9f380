/** Handles calls of the engine that fail for lack of memory. */

import { setTimeout } from 'node:timers/promises';
import { type TritonError, unavailable } from '../errors.js';

const made = new WeakSet<Error>();

/** Makes the error that a call of the engine throws if memory is exhausted. Such a call has changed nothing. */
export function noMemoryError(): TritonError {
  const error = unavailable('NO_MEMORY', 'the process has no memory left for this call');
  made.add(error);
  return error;
}

/** Whether an error was made by {@link noMemoryError}, and thus thrown by a call of the engine. */
export function isNoMemory(error: unknown): boolean {
  return error instanceof Error && made.has(error);
}

const pauseMs = 10;

/**
 * Makes a call that must succeed, and returns its result. If memory is exhausted, it repeats the call after a
 * pause.
 */
export async function insist<T>(call: () => T): Promise<T> {
  for (;;) {
    try {
      return call();
    } catch (error) {
      if (!isNoMemory(error)) throw error;
    }
    await setTimeout(pauseMs);
  }
}

/**
 * Does the same as {@link insist} for a call with a later result: `call` is passed the function that receives
 * the result.
 */
export function insistOnAnswer<T>(call: (done: (told: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    insist(() => {
      call(resolve);
    }).catch(reject);
  });
}
