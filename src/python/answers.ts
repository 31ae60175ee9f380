/** What is written to the process of a model, and how much of it may lie unread. */

import type { Duplex } from 'node:stream';

/** A process that has so many questions under way, or answered and unread, is read no more until one is read. */
const mostQuestions = 16;

/** See the head of this file. Of one process. */
export class Answers {
  readonly #stream: Duplex;
  readonly #patienceMs: number;
  readonly #tooLate: (why: string) => void;
  /** Questions that have come, and whose answers the system has not taken. */
  #open = 0;
  #unwritten = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Who waits until there is room. */
  #waiter: { readonly promise: Promise<void>; readonly go: () => void } | undefined;

  /**
   * @param patienceMs - So long a process that is read no more may read nothing.
   * @param tooLate - Called with what it has done when it has not.
   */
  constructor(stream: Duplex, patienceMs: number, tooLate: (why: string) => void) {
    this.#stream = stream;
    this.#patienceMs = patienceMs;
    this.#tooLate = tooLate;
    stream.once('close', () => {
      clearTimeout(this.#timer);
    });
  }

  /** A question has come. */
  begin(): void {
    this.#open++;
  }

  /** Writes its answer. */
  end(answer: object): void {
    this.#write(answer, () => this.#open--);
  }

  /** Writes a line that answers nothing. */
  write(line: object): void {
    this.#write(line, () => undefined);
  }

  /** Undefined: questions are taken. Else it resolves when they are again. */
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
    // It is called also when the process has gone.
    this.#stream.write(`${JSON.stringify(line)}\n`, () => {
      this.#unwritten--;
      taken();
      this.#watch();
    });
    this.#watch();
  }

  /** Something was written or read. */
  #watch(): void {
    clearTimeout(this.#timer);
    if (this.#waiter !== undefined && this.#open < mostQuestions) {
      this.#waiter.go();
      this.#waiter = undefined;
    }
    // Questions that are being answered are the server's delay.
    if (this.#waiter === undefined || this.#unwritten === 0 || this.#stream.destroyed) return;
    this.#timer = setTimeout(() => {
      this.#tooLate(
        `has asked ${mostQuestions} questions and read none of the answers for ${this.#patienceMs / 1000} s (stub-timeout-seconds)`,
      );
    }, this.#patienceMs).unref();
  }
}
