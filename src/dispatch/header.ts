/** The words that the engine shares with an environment. */

import { headerClosed, headerEpoch } from '../addon/layout.js';
import type { NativePort } from '../addon/native.js';

/** No epoch of an engine. */
const closedEpochs: Int32Array = Int32Array.of(-1);

/** See the head of this file. One a port. */
export class Header {
  readonly #native: Pick<NativePort, 'header' | 'headerWord'>;
  /** Undefined where memory is not shared. */
  readonly #words: Int32Array | undefined;
  /** Where `epoch` is read: in the header, until this is refused. */
  #epochs: Int32Array | undefined;

  constructor(native: Pick<NativePort, 'header' | 'headerWord'>, external: boolean) {
    this.#native = native;
    this.#words = external ? new Int32Array(native.header()) : undefined;
    this.#epochs = this.#words;
  }

  /**
   * Counts changes of the table of models; -1 once nothing is to be asked any more.
   *
   * @param again - Whether it was asked for in this tick before. Once a tick it is read atomically; what a plain read, at a
   *   sixth of the cost, misses until then, the next tick sees.
   */
  epochOf(again: boolean): number {
    const epochs = this.#epochs;
    if (epochs === undefined) return this.#native.headerWord(headerEpoch);
    return again ? (epochs[headerEpoch] ?? 0) : Atomics.load(epochs, headerEpoch);
  }

  /** Whether the server closes or is closed, or nothing is to be asked any more. */
  get closed(): boolean {
    return this.#epochs === closedEpochs || this.word(headerClosed) === 1;
  }

  /** A word, as it is now. */
  word(index: number): number {
    return this.#words ? Atomics.load(this.#words, index) : this.#native.headerWord(index);
  }

  /** From now on nothing is to be asked. */
  refuse(): void {
    this.#epochs = closedEpochs;
  }
}
