/** Writes answers and other lines to the process of a model, with a limit of unread answers. */

import type { Duplex } from 'node:stream';
import { clearTimeout, setTimeout } from '../timers.js';

/** With this number of questions open or their answers unread, reading from the process pauses. */
const mostQuestions = 16;

/** See the head of this file. Each process has its own. */
export class Answers {
  readonly #stream: Duplex;
  readonly #patienceMs: number;
  readonly #tooLate: (why: string) => void;
  /** Questions whose answers the socket has not taken. */
  #open = 0;
  #unwritten = 0;
  #timer: NodeJS.Timeout | undefined;
  /** The promise for room, while reading is paused. */
  #waiter: { readonly promise: Promise<void>; readonly go: () => void } | undefined;

  /**
   * @param patienceMs - How long a paused process may read nothing.
   * @param tooLate - Called with the reason when it has read nothing for so long.
   */
  constructor(stream: Duplex, patienceMs: number, tooLate: (why: string) => void) {
    this.#stream = stream;
    this.#patienceMs = patienceMs;
    this.#tooLate = tooLate;
    stream.once('close', () => {
      clearTimeout(this.#timer);
    });
  }

  /** Counts a question. */
  begin(): void {
    this.#open++;
  }

  /** Writes the answer to a question. */
  end(answer: object): void {
    this.#write(answer, () => this.#open--);
  }

  /** Writes a line that answers nothing. */
  write(line: object): void {
    this.#write(line, () => undefined);
  }

  /** Resolves when questions may be read again; undefined: they may be read now. */
  room(): Promise<void> | undefined {
    if (this.#open < mostQuestions) return undefined;
    if (this.#waiter === undefined) {
      let go: () => void = () => undefined;
      const promise = new Promise<void>((resolve) => (go = resolve));
      this.#waiter = { promise, go };
      this.#watch();
    }
    return this.#waiter.promise;
  }

  #write(line: object, taken: () => void): void {
    this.#unwritten++;
    // The callback is called even if the process is gone.
    this.#stream.write(`${JSON.stringify(line)}\n`, () => {
      this.#unwritten--;
      taken();
      this.#watch();
    });
    this.#watch();
  }

  /** Called after each write and read: resumes reading, or starts the time limit again. */
  #watch(): void {
    clearTimeout(this.#timer);
    if (this.#waiter !== undefined && this.#open < mostQuestions) {
      this.#waiter.go();
      this.#waiter = undefined;
    }
    // Without unwritten lines the delay is the server's, not the process'.
    if (this.#waiter === undefined || this.#unwritten === 0 || this.#stream.destroyed) return;
    this.#timer = setTimeout(() => {
      this.#tooLate(
        `asked ${mostQuestions} questions and read no answer for ${this.#patienceMs / 1000} s (stub-timeout-seconds)`,
      );
    }, this.#patienceMs).unref();
  }
}
