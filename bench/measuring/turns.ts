/** Compares two loads in many short turns, so that other work on the machine affects both alike. */

/** Turns of each in a round. */
const turns = 6;
/** The length of a turn, in milliseconds. */
export const turnMs = 40;

/**
 * The ratio of two loads' rates over a round of turns.
 *
 * @param ours - Runs our load for {@link turnMs}, and returns its rate.
 * @param theirs - The same for the other load.
 */
export async function ratioByTurns(
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
): Promise<number> {
  let [one, other] = [0, 0];
  for (let turn = 0; turn < turns; turn++) {
    // The loads alternate in who goes first.
    if (turn % 2 === 0) one += await ours();
    other += await theirs();
    if (turn % 2 === 1) one += await ours();
  }
  return one / other;
}
