/** A request that wants some of its outputs as classes. */

import type { SentStream, StreamWaiter } from '../dispatch/streams.js';
import type { Waiter } from '../dispatch/types.js';
import { Queue } from '../queue.js';
import { inSlices } from '../slices.js';
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
    const waiter = this.#waiter;
    inSlices(
      this.#version.classified(result, this.#wanted.classes),
      (classified) => {
        waiter.resolve(classified);
      },
      (error) => {
        waiter.reject(error);
      },
    );
  }

  reject(error: unknown): void {
    this.#waiter.reject(error);
  }
}

/** The same for a request with any number of responses, which keep their order. */
export class ClassifyingStream implements StreamWaiter<InferResult> {
  readonly #version: ReadyVersion;
  readonly #wanted: WantedOutputs;
  readonly #waiter: StreamWaiter<InferResult>;
  /** Whether a response is being classified. */
  #busy = false;
  /** What came meanwhile. */
  readonly #later: Queue<() => void> = new Queue();

  constructor(version: ReadyVersion, wanted: WantedOutputs, waiter: StreamWaiter<InferResult>) {
    this.#version = version;
    this.#wanted = wanted;
    this.#waiter = waiter;
  }

  begin(): void {
    this.#waiter.begin();
  }

  push(result: InferResult, bytes: number): void {
    // Until its classes are found, the request may end, and its place be another's.
    this.#waiter.begin();
    this.#classify(result, (classified) => {
      this.#waiter.push(classified, bytes);
    });
  }

  end(): void {
    this.#inTurn(() => {
      this.#waiter.end();
    });
  }

  moved(stream: SentStream): void {
    this.#waiter.moved(stream);
  }

  resolve(result: InferResult): void {
    this.#classify(result, (classified) => {
      this.#waiter.resolve(classified);
    });
  }

  reject(error: unknown): void {
    this.#inTurn(() => {
      this.#waiter.reject(error);
    });
  }

  #classify(result: InferResult, take: (classified: InferResult) => void): void {
    this.#inTurn(() => {
      this.#busy = true;
      inSlices(
        this.#version.classified(result, this.#wanted.classes),
        (classified) => {
          take(classified);
          this.#goOn();
        },
        (error) => {
          this.#waiter.reject(error);
          this.#goOn();
        },
      );
    });
  }

  #inTurn(act: () => void): void {
    if (this.#busy) this.#later.push(act);
    else act();
  }

  #goOn(): void {
    this.#busy = false;
    for (let act = this.#next(); act !== undefined; act = this.#next()) act();
  }

  /** What is to be done now; undefined: nothing, or a response is being classified. */
  #next(): (() => void) | undefined {
    return this.#busy ? undefined : this.#later.shift();
  }
}
