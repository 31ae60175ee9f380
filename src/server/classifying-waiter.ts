/** A request that wants some of its outputs as classes. */

import type { SentStream, StreamWaiter } from '../dispatch/streams.js';
import type { Waiter } from '../dispatch/types.js';
import type { ReadyVersion } from './ready-version.js';
import type { InferResult } from './results.js';
import type { WantedOutputs } from './wanted-outputs.js';

/** Turns outputs into classes before it resolves the request's waiter. */
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

/** The same for a request with any number of responses. */
export class ClassifyingStream implements StreamWaiter<InferResult> {
  readonly #version: ReadyVersion;
  readonly #wanted: WantedOutputs;
  readonly #waiter: StreamWaiter<InferResult>;

  constructor(version: ReadyVersion, wanted: WantedOutputs, waiter: StreamWaiter<InferResult>) {
    this.#version = version;
    this.#wanted = wanted;
    this.#waiter = waiter;
  }

  push(result: InferResult, bytes: number): void {
    const classified = this.#classified(result);
    if (classified !== undefined) this.#waiter.push(classified, bytes);
  }

  end(): void {
    this.#waiter.end();
  }

  moved(stream: SentStream): void {
    this.#waiter.moved(stream);
  }

  resolve(result: InferResult): void {
    const classified = this.#classified(result);
    if (classified !== undefined) this.#waiter.resolve(classified);
  }

  reject(error: unknown): void {
    this.#waiter.reject(error);
  }

  #classified(result: InferResult): InferResult | undefined {
    try {
      return this.#version.classified(result, this.#wanted.classes);
    } catch (error) {
      this.#waiter.reject(error);
      return undefined;
    }
  }
}
