/** Who asks a server for loads and unloads: a model that waits for the answer, or somebody else. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { invalidArgument, TritonError } from '../errors.js';
import { Wait } from '../waits.js';
import { CallingRequest } from './batches/calling-request.js';

/** The models of a server that are asking it for something. */
export class Asking {
  /** Who asks from the code that runs right now. */
  #now: Wait | undefined;
  readonly #storage: AsyncLocalStorage<Wait> = new AsyncLocalStorage();
  /** By the instances that they run. */
  readonly #askers: WeakMap<object, Asker> = new WeakMap();
  /** How many tasks are followed over their promises. */
  #followed = 0;

  /** What would wait for what is asked for right now; undefined: nothing that is known. */
  get asker(): Wait | undefined {
    const asker = this.#now ?? (this.#followed > 0 ? this.#storage.getStore() : undefined);
    return asker?.ended === true ? undefined : asker;
  }

  /** `instance` is of a version that asks. */
  note(instance: object, asker: Asker): void {
    this.#askers.set(instance, asker);
  }

  /**
   * What would wait for what is asked for, with `parent` as `options.parent`; undefined: nothing that is known.
   *
   * @throws {@link TritonError} INVALID_ARG for something that is no request of a model of this server that runs in this
   *   environment, CANCELLED if it has ended.
   */
  askerOf(model: string, parent: unknown): Wait | undefined {
    if (parent === undefined) return this.asker;
    const asker = parent instanceof CallingRequest ? this.#askers.get(parent.instance) : undefined;
    if (!(parent instanceof CallingRequest) || asker === undefined) {
      throw invalidArgument(
        `model '${model}': expected a request that execute got from this server, in the same thread, for options.parent`,
        { model },
      );
    }
    if (parent.caller !== 0) return asker.wait;
    throw new TritonError(
      'CANCELLED',
      `model '${model}': the request that asks for this (options.parent) has ended`,
      { model },
    );
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

  /** What it asks as now. */
  get wait(): Wait {
    return this.#load.ended ? this.#run : this.#load;
  }

  /** An instance of the version runs in this environment. */
  runs(instance: object): void {
    this.#asking.note(instance, this);
  }

  /** See {@link Asking.now}. */
  now<T>(call: () => T): T {
    return this.#asking.now(this.wait, call);
  }

  /** See {@link Asking.during}. */
  during<T>(task: () => T | Promise<T>): Promise<T> {
    return this.#asking.during(this.wait, task);
  }
}
