/** Finds out which model, if any, requests a load or unload from its server and waits for it. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { invalidArgument, TritonError } from '../errors.js';
import { Wait } from '../waits.js';
import { CallingRequest } from './batches/calling-request.js';

/** The models of a server that are requesting loads or unloads right now. */
export class Asking {
  /** The requester whose code runs synchronously right now. */
  #now: Wait | undefined;
  readonly #storage: AsyncLocalStorage<Wait> = new AsyncLocalStorage();
  /** Askers by the instance that runs them. */
  readonly #askers: WeakMap<object, Asker> = new WeakMap();
  /** How many tasks are tracked across their promises. */
  #followed = 0;

  /** The model's load or run that would wait for a load requested right now; undefined: none is known. */
  get asker(): Wait | undefined {
    const asker = this.#now ?? (this.#followed > 0 ? this.#storage.getStore() : undefined);
    return asker?.ended === true ? undefined : asker;
  }

  /** Notes the asker of an instance's version. */
  note(instance: object, asker: Asker): void {
    this.#askers.set(instance, asker);
  }

  /**
   * The model's load or run that would wait for a load with `parent` as `options.parent`; undefined: none is known.
   *
   * @throws {@link TritonError} INVALID_ARG unless `parent` is a request of a model of this server that runs in
   *   this environment, CANCELLED if that request has ended.
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
    throw new TritonError('CANCELLED', `model '${model}': the request given as options.parent has ended`, {
      model,
    });
  }

  /** Calls a function. `asker` counts as waiting for loads that are requested before it returns. */
  now<T>(asker: Wait, call: () => T): T {
    const before = this.#now;
    this.#now = asker;
    try {
      return call();
    } finally {
      this.#now = before;
    }
  }

  /** Runs a task. `asker` counts as waiting for loads that are requested until the task's promise settles. */
  async during<T>(asker: Wait, task: () => T | Promise<T>): Promise<T> {
    // Timers and other callbacks that outlive the task must not count as the task. They see that `part` has ended.
    const part = new Wait(asker.kind, '');
    const end = asker.begin(part);
    this.#followed++;
    try {
      return await this.#storage.run(part, () => this.now(part, task));
    } finally {
      part.end();
      end();
      // An enabled AsyncLocalStorage makes every promise of the program slower.
      if (--this.#followed === 0) this.#storage.disable();
    }
  }
}

/** A version of a model as a requester of loads: as its load, or after that as the model's run. */
export class Asker {
  readonly #asking: Asking;
  readonly #load: Wait;
  readonly #run: Wait;

  constructor(asking: Asking, load: Wait, run: Wait) {
    this.#asking = asking;
    this.#load = load;
    this.#run = run;
  }

  /** The load of the version while it lasts, then its run. */
  get wait(): Wait {
    return this.#load.ended ? this.#run : this.#load;
  }

  /** Notes an instance of the version that runs in this environment. */
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
