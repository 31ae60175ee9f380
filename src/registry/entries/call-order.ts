/**
 * The order of the calls that load and unload the models of a name. A load lists the sources before its models take
 * their turns, and a later unload must not overtake it meanwhile.
 */

/** A call on its way to its turns. */
export interface CallPlace {
  /** Resolves when the earlier calls have taken their turns; undefined if all have. It does not reject. */
  readonly earlier: Promise<void> | undefined;
  /** This call has taken its turns, or takes none. */
  readonly leave: () => void;
}

/** See the head of this file. */
export class CallOrder {
  /** By name, the last call that has yet to take its turns. */
  readonly #last: Map<string, Promise<void>> = new Map();

  /** A call comes. It has to leave. */
  enter(name: string): CallPlace {
    const earlier = this.#last.get(name);
    let leave = (): void => undefined;
    const own = new Promise<void>((resolve) => {
      // A call may leave before its turn, because it failed. Later calls still wait for the earlier ones.
      leave = () => {
        resolve(earlier);
      };
    });
    this.#last.set(name, own);
    void own.then(() => {
      if (this.#last.get(name) === own) this.#last.delete(name);
    });
    return { earlier, leave };
  }
}
