/**
 * A graph of the loads, unloads, polls and running models that wait for each other. It prevents a model's load or
 * unload, or a poll, from waiting for itself. Calls of `infer` are not part of it; the engine tracks those.
 */

/** Kind of a node: a model's load, its unload, another change of it, a batch that a model runs, or a poll. */
export type WaitKind = 'load' | 'unload' | 'change' | 'run' | 'poll';

/**
 * A node of the graph: an operation that may wait for others, and that others may wait for, until it ends. See
 * the head of this file.
 */
export class Wait {
  readonly kind: WaitKind;
  /** The operation in words; empty for a part of an operation that has words. */
  readonly #words: string;
  readonly #for: Set<{ readonly other: Wait }> = new Set();
  #ended = false;

  constructor(kind: WaitKind, words: string) {
    this.kind = kind;
    this.#words = words;
  }

  /** Whether the operation has ended. It then waits for nothing. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Records that this operation waits for another. Returns a function to call when it no longer waits. */
  begin(other: Wait): () => void {
    if (this.#ended || other.#ended) return () => undefined;
    const edge = { other };
    this.#for.add(edge);
    return () => {
      this.#for.delete(edge);
    };
  }

  /** Marks the operation as ended. */
  end(): void {
    this.#ended = true;
    // Others may still refer to this node. Without its edges it keeps no earlier nodes alive.
    this.#for.clear();
  }

  /**
   * Describes the circle that would arise if `other` waited for this operation, such as
   * `load of 'a' → load of 'b' → load of 'a'`. Undefined if there would be no circle.
   */
  circleWith(other: Wait): string | undefined {
    const path = this.#pathTo(other);
    if (path === undefined) return undefined;
    const words = path.map((one) => one.#words).filter((one) => one !== '');
    // An operation that waits for its turn behind another of the same kind would be named twice.
    if (words.length > 1 && words[0] === words[1]) words.shift();
    const last = words.at(-1) ?? '';
    return [...(words.length > 1 && words[0] === last ? [] : [last]), ...words].join(' → ');
  }

  /** The shortest path of waits from this operation to another, both included; undefined if there is none. */
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
