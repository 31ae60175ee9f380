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

/** What each figure was in each round. */
export class Rounds<Key extends string> {
  readonly #values: ReadonlyMap<string, readonly number[]>;

  constructor(values: ReadonlyMap<string, readonly number[]>) {
    this.#values = values;
  }

  of(key: Key): readonly number[] {
    return this.#values.get(key) ?? [];
  }

  /** One figure in each round, divided by another one in the same round. */
  ratios(above: Key, below: Key): readonly number[] {
    const others = this.of(below);
    return this.of(above).map((value, i) => value / (others[i] ?? NaN));
  }
}

/** Measures all figures in turn, in each round. Each round begins with another one, and before them is one to warm up. */
export async function measureInTurn<Key extends string>(
  figures: Readonly<Record<Key, () => Promise<number>>>,
  rounds: number,
): Promise<Rounds<Key>> {
  const all = Object.entries<() => Promise<number>>(figures);
  const values = new Map<string, number[]>(all.map(([key]) => [key, []]));
  for (let round = -1; round < rounds; round++) {
    const first = Math.max(0, round) % all.length;
    for (const [key, measure] of [...all.slice(first), ...all.slice(0, first)]) {
      const value = await measure();
      if (round >= 0) values.get(key)?.push(value);
    }
  }
  return new Rounds(values);
}
