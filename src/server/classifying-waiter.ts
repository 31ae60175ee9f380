/** A request whose outputs, or some of them, are wanted as classes. */

import type { Waiter } from '../dispatch/types.js';
import type { ReadyVersion } from './ready-version.js';
import type { InferResult } from './results.js';
import type { WantedOutputs } from './wanted-outputs.js';

/** Gives a request's waiter outputs as classes. */
export class ClassifyingWaiter implements Waiter<InferResult> {
  readonly #version: ReadyVersion;
  readonly #wanted: WantedOutputs;
  readonly #waiter: Waiter<InferResult>;

  constructor(version: ReadyVersion, wanted: WantedOutputs, waiter: Waiter<InferResult>) {
    this.#version = version;
    this.#wanted = wanted;
    this.#waiter = waiter;
  }

  resolve(result: InferResult): void {
    let classified: InferResult;
    try {
      classified = this.#version.classified(result, this.#wanted.classes);
    } catch (error) {
      this.#waiter.reject(error);
      return;
    }
    this.#waiter.resolve(classified);
  }

  reject(error: unknown): void {
    this.#waiter.reject(error);
  }
}
