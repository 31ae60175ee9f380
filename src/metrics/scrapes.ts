/** Makes texts of metrics in slices of the event loop, one text at a time. */

import { inSlices, type Sliced } from '../slices.js';

/** See the head of this file. */
export class Scrapes {
  readonly #begin: () => Sliced<string>;
  #current: Promise<string> | undefined;
  #following: Promise<string> | undefined;

  /** @param begin - Begins a text. An error that it or the text throws rejects the promise of that text. */
  constructor(begin: () => Sliced<string>) {
    this.#begin = begin;
  }

  /** A text that begins after this call. Calls during another text share the next text. */
  next(): Promise<string> {
    if (this.#current === undefined) return this.#start();
    const start = (): Promise<string> => {
      this.#following = undefined;
      return this.#start();
    };
    return (this.#following ??= this.#current.then(start, start));
  }

  #start(): Promise<string> {
    const text = new Promise<string>((resolve, reject) => {
      inSlices(this.#begin(), resolve, reject);
    });
    this.#current = text;
    const end = (): void => {
      if (this.#current === text) this.#current = undefined;
    };
    text.then(end, end);
    return text;
  }
}
