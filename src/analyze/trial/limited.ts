/** Waits for work that may never end, such as the load of a model. */

import { TritonError, unavailable } from '../../errors.js';
import type { InferenceServer } from '../../index.js';
import { longestTimerMs } from '../../time-limit.js';

/**
 * Waits for work.
 *
 * @param late - Says what did not end, for the message.
 * @throws {@link TritonError} UNAVAILABLE if it did not end in time, CANCELLED if the signal is aborted, and the error of the work.
 */
export async function limited<T>(
  work: Promise<T>,
  limitMs: number,
  signal: AbortSignal,
  late: string,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let stop: (() => void) | undefined;
  const end = new Promise<never>((_, reject) => {
    stop = (): void => {
      reject(aborted());
    };
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    timer = setTimeout(
      () => {
        reject(unavailable('TIMED_OUT', late));
      },
      Math.min(limitMs, longestTimerMs),
    );
  });
  try {
    return await Promise.race([work, end]);
  } finally {
    clearTimeout(timer);
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}

/** The error of a measurement that a signal has ended. */
export function aborted(): TritonError {
  return new TritonError('CANCELLED', 'the measurement was ended');
}

/** Closes a server. What does not return is abandoned, and is no fault of the candidate that comes next. */
export async function closeServer(server: InferenceServer): Promise<void> {
  try {
    await server.close({ timeoutMs: 0 });
  } catch (error) {
    if (!(error instanceof TritonError && error.code === 'INTERNAL')) throw error;
  }
}
