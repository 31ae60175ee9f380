/** Tells a server's `onProgress` of loads, and how far they are. */

import type { LoadEvent, ServerOptions } from '../options.js';

/** One call that loads models; when its listener has thrown, it is told nothing more of that call. */
export interface LoadCall {
  fault?: { readonly error: unknown };
}

/** @throws What the listener threw, in place of what a load ended with. */
export function throwFault({ fault }: LoadCall): void {
  if (fault) throw fault.error;
}

/** See the head of this file. */
export class LoadReports {
  readonly #onProgress: ServerOptions['onProgress'];
  #done = 0;
  #total = 0;

  constructor(onProgress: ServerOptions['onProgress']) {
    this.#onProgress = onProgress;
  }

  /** So many models more are to be loaded. */
  expect(models: number): void {
    this.#total += models;
  }

  /** A model is ready, or has failed. */
  finish(): void {
    this.#done++;
  }

  /**
   * @param version - Undefined while the model's versions are not known.
   * @returns False where the listener threw.
   */
  report(call: LoadCall, model: string, version: number | undefined, state: LoadEvent['state']): boolean {
    if (!this.#onProgress || call.fault) return true;
    try {
      this.#onProgress({
        model,
        ...(version === undefined ? {} : { version: String(version) }),
        state,
        done: this.#done,
        total: this.#total,
      });
      return true;
    } catch (error) {
      // It is for whoever called. A load that is under way goes on, whatever a listener does.
      call.fault = { error };
      return false;
    }
  }
}
