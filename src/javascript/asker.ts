/** Who asks a server for loads and unloads: a model that waits for the answer, or somebody else. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { Wait } from '../waits.js';

/** The models of a server that are asking it for something. */
export class Asking {
  /** Who asks from the code that runs right now. */
  #now: Wait | undefined;
  readonly #storage: AsyncLocalStorage<Wait> = new AsyncLocalStorage();
  /** How many tasks are followed over their promises. */
  #followed = 0;

  /** What would wait for what is asked for right now; undefined: nothing that is known. */
  get asker(): Wait | undefined {
    const asker = this.#now ?? (this.#followed > 0 ? this.#storage.getStore() : undefined);
    return asker?.ended === true ? undefined : asker;
  }

  /** Calls a function. What it asks for before it returns, `asker` waits for. */
  now<T>(asker: Wait, call: () => T): T {
    const before = this.#now;
    this.#now = asker;
    try {
      return call();
    } finally {
      this.#now = before;
    }
  }

  /** Does a task. What it asks for until its promise settles, `asker` waits for. */
  async during<T>(asker: Wait, task: () => T | Promise<T>): Promise<T> {
    // What the task leaves behind, such as timers, asks for itself.
    const part = new Wait(asker.kind, '');
    const end = asker.begin(part);
    this.#followed++;
    try {
      return await this.#storage.run(part, () => this.now(part, task));
    } finally {
      part.end();
      end();
      // Otherwise every promise of the program would cost more from now on.
      if (--this.#followed === 0) this.#storage.disable();
    }
  }
}

/** A version of a model as one that asks: as a part of its load, or, when that has ended, of what the model runs. */
export class Asker {
  readonly #asking: Asking;
  readonly #load: Wait;
  readonly #run: Wait;

  constructor(asking: Asking, load: Wait, run: Wait) {
    this.#asking = asking;
    this.#load = load;
    this.#run = run;
  }

  get #wait(): Wait {
    return this.#load.ended ? this.#run : this.#load;
  }

  /** See {@link Asking.now}. */
  now<T>(call: () => T): T {
    return this.#asking.now(this.#wait, call);
  }

  /** See {@link Asking.during}. */
  during<T>(task: () => T | Promise<T>): Promise<T> {
    return this.#asking.during(this.#wait, task);
  }
}
