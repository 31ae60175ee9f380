/** Abort signals that many wait on. */

import { setMaxListeners } from 'node:events';

/** A controller whose signal any number of calls may listen to at a time. Node warns of more than ten otherwise. */
export function sharedController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/**
 * Aborts a controller when a signal is aborted. `AbortSignal.any` would do, but on Node 20 it keeps something in the signal for
 * each call, and a server's signal lives long.
 *
 * @returns Ends that.
 */
export function follow(own: AbortController, signal: AbortSignal): () => void {
  const stop = (): void => {
    own.abort(signal.reason);
  };
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop, { once: true });
  return () => {
    signal.removeEventListener('abort', stop);
  };
}

/** The result of a call, or a rejection once the signal is aborted: not every call looks at it. */
export async function orAborted<T>(made: Promise<T>, signal: AbortSignal): Promise<T> {
  made.catch(() => undefined);
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = (): void => {
      reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([made, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
