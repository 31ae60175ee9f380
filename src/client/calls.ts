/** The calls in progress on a connection: it cancels them, waits for their end, and retries them. */

import { endsWithin, longestTimerMs } from '../time-limit.js';
import { Broken, cancelled } from './failures.js';
import { Signals } from './signals.js';
import { clearTimeout, setTimeout } from '../timers.js';

/** The pause before the first retry, in milliseconds; each further pause is twice as long. */
const firstPauseMs = 50;

/** See the head of this file. */
export class Calls {
  readonly signals: Signals = new Signals();
  readonly #retries: number;
  readonly #underWay: Set<() => void> = new Set();
  /** Ends the pauses before retries. */
  readonly #pauses: Set<() => void> = new Set();
  #idle: (() => void) | undefined;
  #closed = false;

  /** @param retries - How many times a failed call is retried. */
  constructor(retries: number) {
    this.#retries = retries;
  }

  /** Whether {@link end} was called. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Records that a call has begun. `cancel` cancels it. */
  began(cancel: () => void): void {
    this.#underWay.add(cancel);
  }

  /** Records that the call has ended. */
  ended(cancel: () => void): void {
    this.#underWay.delete(cancel);
    if (this.#underWay.size === 0) this.#idle?.();
  }

  /**
   * Makes a call, and retries it if its connection breaks. {@link end} ends a pause before a retry, and the call
   * fails as it did before the pause.
   *
   * @param mayRepeat - Whether the call may be retried after this error.
   */
  async retrying<T>(
    once: () => Promise<T>,
    mayRepeat: (error: Broken) => boolean,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await once();
      } catch (error) {
        if (attempt >= this.#retries || !(error instanceof Broken) || !mayRepeat(error)) throw error;
        if (!this.#closed) await this.#pause(firstPauseMs * 2 ** attempt, signal);
        if (this.#closed) throw error;
      }
    }
  }

  /** Waits for a time, or until the signal aborts: the next attempt then reports the cancellation. */
  #pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const over = (): void => {
        clearTimeout(timer);
        this.#pauses.delete(over);
        if (signal !== undefined) this.signals.remove(signal, over);
        resolve();
      };
      const timer = setTimeout(over, Math.min(ms, longestTimerMs));
      this.#pauses.add(over);
      if (signal !== undefined) this.signals.add(signal, over);
    });
  }

  /**
   * Waits for something that a call needs first, such as a description that several calls share.
   *
   * @throws {@link TritonError} CANCELLED by the call's signal; `waited` then continues for the other calls.
   */
  unlessCancelled<T>(waited: Promise<T>, signal: AbortSignal | undefined, model: string): Promise<T> {
    if (signal === undefined) return waited;
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        reject(cancelled(signal, model));
      };
      if (signal.aborted) cancel();
      else this.signals.add(signal, cancel);
      waited.then(resolve, reject).finally(() => {
        this.signals.remove(signal, cancel);
      });
    });
  }

  /** Refuses new calls, waits for calls in progress up to a time limit, and cancels the rest. */
  async end(timeoutMs: number): Promise<void> {
    this.#closed = true;
    for (const over of [...this.#pauses]) over();
    if (this.#underWay.size > 0 && timeoutMs > 0) {
      await endsWithin(new Promise<void>((resolve) => (this.#idle = resolve)), timeoutMs);
    }
    for (const cancel of [...this.#underWay]) cancel();
  }
}
