/**
 * Counts turns of the event loop: where nothing holds it, they go on. A slower machine makes more of them, never
 * fewer.
 */

/** How many turns the event loop makes until a promise settles. */
export async function turnsUntil(promise: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const tick = (): void => {
    turns++;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  await promise.finally(() => (isOver = true));
  return turns;
}
