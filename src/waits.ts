/**
 * What waits for what, where models load and unload each other: so that nothing is made to wait for itself. Calls of
 * `infer` are not among it: the engine knows these.
 */

/** What something is: a load or an unload of a model, another change of it, or what a model runs. */
export type WaitKind = 'load' | 'unload' | 'change' | 'run';

/** Something that may wait for others, and that others may wait for, until it ends. See the head of this file. */
export class Wait {
  readonly kind: WaitKind;
  /** What it is, in words; empty for a part of something that has words. */
  readonly #words: string;
  readonly #for: Set<{ readonly other: Wait }> = new Set();
  #ended = false;

  constructor(kind: WaitKind, words: string) {
    this.kind = kind;
    this.#words = words;
  }

  /** Whether it has ended. It waits for nothing then. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Notes that this waits for another. Returns what is called when it waits no more. */
  begin(other: Wait): () => void {
    if (this.#ended || other.#ended) return () => undefined;
    const edge = { other };
    this.#for.add(edge);
    return () => {
      this.#for.delete(edge);
    };
  }

  /** It has ended. */
  end(): void {
    this.#ended = true;
    // What others hold of it is not to hold what came before it.
    this.#for.clear();
  }

  /**
   * The circle that would come about if another one waited for this, in words, such as `load of 'a' → load of 'b' → load of
   * 'a'`; undefined if there would be none.
   */
  circleWith(other: Wait): string | undefined {
    const path = this.#pathTo(other);
    if (path === undefined) return undefined;
    const words = path.map((one) => one.#words).filter((one) => one !== '');
    // One that waits for its turn behind another one of its kind would be said twice.
    if (words.length > 1 && words[0] === words[1]) words.shift();
    const last = words.at(-1) ?? '';
    return [...(words.length > 1 && words[0] === last ? [] : [last]), ...words].join(' → ');
  }

  /** The shortest way over which this waits for another, both ends included; undefined if it does not. */
  #pathTo(other: Wait): Wait[] | undefined {
    const cameFrom = new Map<Wait, Wait | undefined>([[this, undefined]]);
    for (const one of cameFrom.keys()) {
      if (one === other) {
        const path: Wait[] = [];
        for (let at: Wait | undefined = one; at !== undefined; at = cameFrom.get(at)) path.unshift(at);
        return path;
      }
      for (const { other: next } of one.#for) if (!cameFrom.has(next)) cameFrom.set(next, one);
    }
    return undefined;
  }
}
