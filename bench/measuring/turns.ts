/** Two loads by many short turns: what the machine does besides meets both alike. */

/** Turns of each in a round. */
const turns = 6;
/** The length of a turn, in milliseconds. */
export const turnMs = 40;

/**
 * How many times as fast one load is as another, over a round of turns.
 *
 * @param ours - Runs for {@link turnMs}; its rate.
 * @param theirs - The same.
 */
export async function ratioByTurns(
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
): Promise<number> {
  let [one, other] = [0, 0];
  for (let turn = 0; turn < turns; turn++) {
    // Each is the first one as often as the other.
    if (turn % 2 === 0) one += await ours();
    other += await theirs();
    if (turn % 2 === 1) one += await ours();
  }
  return one / other;
}
