/** Waits for an answer of a server that may not come. */

/** After the measurement was ended, answers are waited for only so long: they may be those of the last window. */
const afterEndMs = 1000;

/**
 * Waits for an answer.
 *
 * @param signal - Ends the wait, a second after it is aborted.
 * @returns The answer; undefined if it did not come in time.
 */
export async function within<T>(
  answer: Promise<T>,
  limitMs: number,
  signal: AbortSignal,
): Promise<{ readonly value: T } | undefined> {
  let timer: NodeJS.Timeout | undefined;
  let ended: (() => void) | undefined;
  const late = new Promise<undefined>((resolve) => {
    const limit = (ms: number): void => {
      clearTimeout(timer);
      timer = setTimeout(resolve, ms, undefined);
    };
    ended = (): void => {
      limit(afterEndMs);
    };
    limit(signal.aborted ? afterEndMs : limitMs);
    signal.addEventListener('abort', ended, { once: true });
  });
  try {
    return await Promise.race([answer.then((value) => ({ value })), late]);
  } finally {
    clearTimeout(timer);
    if (ended !== undefined) signal.removeEventListener('abort', ended);
  }
}
