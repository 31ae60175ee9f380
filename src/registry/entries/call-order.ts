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
    let resolve = (): void => undefined;
    const own = new Promise<void>((done) => {
      resolve = done;
    });
    this.#last.set(name, own);
    return {
      earlier,
      leave: () => {
        if (this.#last.get(name) === own) this.#last.delete(name);
        resolve();
      },
    };
  }
}
