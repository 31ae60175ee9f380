/** How long a schedule waits for what must happen. */

/** After this time a request counts as lost, in milliseconds, so that the test fails and does not hang. */
const patienceMs = 60_000;

/** Waits for a promise. Returns false if it took too long. */
export async function inTime(promise: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<false>((resolve) => (timer = setTimeout(resolve, patienceMs, false)));
  try {
    return await Promise.race([promise.then(() => true), limit]);
  } finally {
    clearTimeout(timer);
  }
}
