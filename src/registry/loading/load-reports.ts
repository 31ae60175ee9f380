/** Reports the progress of loads to a server's `onProgress`. */

import { defaultNamespace, type ModelKey } from '../../model-key.js';
import type { LoadEvent, ServerOptions } from '../../options.js';

/** A call that loads models. When its listener has thrown, it is not called again for this call. */
export interface LoadCall {
  fault?: { readonly error: unknown };
}

/**
 * Throws what the listener threw, instead of the load's own outcome.
 *
 * @throws What the listener threw.
 */
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

  /** Adds `models` models that are to be loaded. */
  expect(models: number): void {
    this.#total += models;
  }

  /** Notes that a model is ready, or has failed. */
  finish(): void {
    this.#done++;
  }

  /**
   * Reports a step.
   *
   * @param version - Undefined while the model's versions are not known.
   * @returns False if the listener threw.
   */
  report(
    call: LoadCall,
    { name: model, namespace }: ModelKey,
    version: number | undefined,
    state: LoadEvent['state'],
    download?: LoadEvent['download'],
  ): boolean {
    if (!this.#onProgress || call.fault) return true;
    try {
      this.#onProgress({
        model,
        ...(namespace === defaultNamespace ? {} : { namespace }),
        ...(version === undefined ? {} : { version: String(version) }),
        state,
        ...(download === undefined ? {} : { download }),
        done: this.#done,
        total: this.#total,
      });
      return true;
    } catch (error) {
      // The error is for the caller. A load that is under way goes on, whatever a listener does.
      call.fault = { error };
      return false;
    }
  }
}
