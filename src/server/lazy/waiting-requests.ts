/** The requests of a model's handle that wait until the model is loaded. They are sent in the order in which they came. */

import { cancelled } from '../../dispatch/errors/request-errors.js';
import type { Origin, Waiter } from '../../dispatch/types.js';
import type { EngineConnection } from '../../dispatch/engine-connection.js';
import type { ModelKey } from '../../model-key.js';
import type { Inputs } from '../../tensor/inputs.js';
import type { InferResult } from '../../api/results.js';
import type { CheckedOptions } from '../requests/infer-options.js';
import type { ToldStream } from '../../dispatch/responses/streams.js';
import { keepInputs } from './kept-inputs.js';
import type { LazyLoads } from './lazy-loads.js';

/** A request that is sent when its model is loaded. */
export interface HeldRequest {
  readonly inputs: Inputs;
  readonly options: CheckedOptions;
  readonly waiter: Waiter<InferResult>;
  readonly origin: Origin;
}

/** The handle of the requests. */
export interface Sleeper {
  readonly key: ModelKey;
  /** Whether the model is still, or again, to be loaded. */
  sleeps(): boolean;
  /**
   * Sends a request.
   *
   * @throws {@link TritonError} Any code; the waiter is not called then.
   */
  sendHeld(request: HeldRequest): void;
}

interface Entry extends HeldRequest {
  /** Ends its part of the limit, and its interest in the signal. */
  readonly end: () => void;
}

/** How often a model that was unloaded before its requests were sent is loaded again for them. */
const mostLoads = 100;

/** See the head of this file. */
export class WaitingRequests {
  readonly #sleeper: Sleeper;
  readonly #loads: LazyLoads;
  readonly #connection: EngineConnection;
  readonly #entries: Set<Entry> = new Set();
  #isWaking = false;

  constructor(sleeper: Sleeper, loads: LazyLoads, connection: EngineConnection) {
    this.#sleeper = sleeper;
    this.#loads = loads;
    this.#connection = connection;
  }

  /** Whether requests wait, so that later ones have to wait behind them. */
  get any(): boolean {
    return this.#entries.size > 0;
  }

  /**
   * Adds a request.
   *
   * @returns What a stream's reader can do with it until it is sent.
   * @throws {@link TritonError} UNAVAILABLE (`TOO_MUCH_IN_FLIGHT`) and INVALID_ARG as {@link LazyLoads.hold}, CANCELLED or UNAVAILABLE
   *   (`TIMED_OUT`) by its signal. It also throws what the caller's getters throw.
   */
  add(given: Inputs, options: CheckedOptions, waiter: Waiter<InferResult>, origin: Origin): ToldStream {
    const { name } = this.#sleeper.key;
    const { signal } = options.request;
    if (signal?.aborted === true) throw cancelled(name, signal);
    const { inputs, bytes } = keepInputs(given, this.#connection);
    const release = this.#loads.hold(name, bytes);
    const deaf =
      signal &&
      this.#loads.signals.on(signal, () => {
        if (this.#remove(entry)) waiter.reject(cancelled(name, signal));
      });
    const entry: Entry = {
      inputs,
      options,
      waiter,
      origin,
      end: () => {
        release();
        deaf?.();
      },
    };
    this.#entries.add(entry);
    this.#loads.note(this, true);
    if (!this.#isWaking) void this.#wake();
    else if (this.#loads.asksEach) this.#join(entry);
    return {
      begin: () => undefined,
      read: () => undefined,
      cancel: () => void this.#remove(entry),
    };
  }

  /** Asks for a request that came during a load. What it is refused with is not for the others. */
  #join(entry: Entry): void {
    this.#loads.wake(this.#sleeper.key).catch((error: unknown) => {
      if (this.#remove(entry)) entry.waiter.reject(error);
    });
  }

  /** Rejects the requests that were made for `owner`. */
  cancelAll(owner: object): void {
    for (const entry of this.#entries) {
      if (entry.options.request.owner !== owner || !this.#remove(entry)) continue;
      entry.waiter.reject(cancelled(this.#sleeper.key.name));
    }
  }

  #remove(entry: Entry): boolean {
    if (!this.#entries.delete(entry)) return false;
    if (!this.any) this.#loads.note(this, false);
    entry.end();
    return true;
  }

  async #wake(): Promise<void> {
    this.#isWaking = true;
    try {
      for (let loads = 0; loads < mostLoads && this.any && this.#sleeper.sleeps(); loads++) {
        await this.#loads.wake(this.#sleeper.key);
      }
    } catch (error) {
      this.#isWaking = false;
      for (const entry of [...this.#entries]) {
        if (this.#remove(entry)) entry.waiter.reject(error);
      }
      return;
    }
    this.#isWaking = false;
    const entries = [...this.#entries];
    // From here on others may be sent, and follow these.
    for (const entry of entries) this.#remove(entry);
    for (const entry of entries) {
      try {
        this.#sleeper.sendHeld(entry);
      } catch (error) {
        entry.waiter.reject(error);
      }
    }
  }
}
