/** The header: the words that the engine shares with an environment. */

import { headerClosed, headerEpoch } from '../../addon/layout.js';
import type { NativePort } from '../../addon/native/port.js';

/** Differs from every epoch of an engine. */
const closedEpochs: Int32Array = Int32Array.of(-1);

/** See the head of this file. A port has one. */
export class Header {
  readonly #native: Pick<NativePort, 'header' | 'headerWord'>;
  /** Undefined if memory is not shared. */
  readonly #words: Int32Array | undefined;
  /** The array that `epoch` reads from: the header, until {@link refuse}. */
  #epochs: Int32Array | undefined;

  constructor(native: Pick<NativePort, 'header' | 'headerWord'>, external: boolean) {
    this.#native = native;
    this.#words = external ? new Int32Array(native.header()) : undefined;
    this.#epochs = this.#words;
  }

  /** The number of changes of the table of models; -1 after {@link refuse}. */
  get epoch(): number {
    const epochs = this.#epochs;
    return epochs ? Atomics.load(epochs, headerEpoch) : this.#native.headerWord(headerEpoch);
  }

  /** Whether the server is closing or closed, or {@link refuse} was called. */
  get closed(): boolean {
    return this.#epochs === closedEpochs || this.word(headerClosed) === 1;
  }

  /** The current value of a word. */
  word(index: number): number {
    return this.#words ? Atomics.load(this.#words, index) : this.#native.headerWord(index);
  }

  /** From now on `closed` is true and `epoch` is -1. */
  refuse(): void {
    this.#epochs = closedEpochs;
  }
}
