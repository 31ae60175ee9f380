/** The calls under way on a connection: what cancels them, what waits for their end, and which of them are made again. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Broken, cancelled } from './failures.js';
import { Signals } from './signals.js';

/** Waits before a second try, in milliseconds; each one more waits twice as long. */
const firstPauseMs = 50;

/** See the head of this file. */
export class Calls {
  readonly signals: Signals = new Signals();
  readonly #retries: number;
  readonly #underWay: Set<() => void> = new Set();
  #idle: (() => void) | undefined;
  #closed = false;

  /** @param retries - How often a call is made again. */
  constructor(retries: number) {
    this.#retries = retries;
  }

  /** Whether {@link end} was called. */
  get closed(): boolean {
    return this.#closed;
  }

  /** A call has begun, which `cancel` ends. */
  began(cancel: () => void): void {
    this.#underWay.add(cancel);
  }

  /** It has ended. */
  ended(cancel: () => void): void {
    this.#underWay.delete(cancel);
    if (this.#underWay.size === 0) this.#idle?.();
  }

  /**
   * Makes a call, and again where its connection breaks.
   *
   * @param mayRepeat - Whether it may be made again after that error.
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
        const isLast = attempt >= this.#retries || this.#closed;
        if (isLast || !(error instanceof Broken) || !mayRepeat(error)) throw error;
        await sleep(firstPauseMs * 2 ** attempt, undefined, { signal }).catch(
          () => undefined, // The next try says that it was cancelled.
        );
      }
    }
  }

  /**
   * Waits for something that a call needs first, such as an answer that several calls wait for.
   *
   * @throws {@link TritonError} CANCELLED by the call's signal; then what is waited for goes on.
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

  /** Refuses new calls, lets those under way end within a time limit, and cancels the rest. */
  async end(timeoutMs: number): Promise<void> {
    this.#closed = true;
    if (this.#underWay.size > 0 && timeoutMs > 0) {
      const stop = new AbortController();
      const ended = new Promise<void>((resolve) => (this.#idle = resolve));
      await Promise.race([
        ended,
        sleep(Math.min(timeoutMs, 2 ** 31 - 1), undefined, { signal: stop.signal }).catch(() => undefined),
      ]);
      stop.abort();
    }
    for (const cancel of [...this.#underWay]) cancel();
  }
}
