/** Keeps the event loop alive while somebody waits: for an answer, or for all requests to end. */

import type { NativePort } from '../addon/native.js';

/** See the head of this file. One a dispatcher. */
export class LoopHold {
  readonly #native: Pick<NativePort, 'ref' | 'unref'>;
  /** Requests that were sent and that somebody waits for. */
  #awaited = 0;
  /** Called when all have ended. */
  #idle: (() => void)[] = [];
  #held = false;

  constructor(native: Pick<NativePort, 'ref' | 'unref'>) {
    this.#native = native;
  }

  /** Whether nobody waits for a request that was sent. */
  get none(): boolean {
    return this.#awaited === 0;
  }

  /** So many more requests are waited for. Until {@link hold} a scheduled flush keeps the loop alive. */
  sent(count: number): void {
    this.#awaited += count;
  }

  /** So many are no more. */
  settled(count: number): void {
    this.#awaited -= count;
  }

  /** Resolves with the next {@link notifyIdle}. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.hold();
    });
  }

  /** All requests have ended. */
  notifyIdle(): void {
    if (this.#idle.length === 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  /** Keeps the process from ending, if somebody waits. */
  hold(): void {
    if (this.#held || (this.#awaited === 0 && this.#idle.length === 0)) return;
    this.#held = true;
    this.#native.ref();
  }

  /** Lets the process end, if nobody does. */
  release(): void {
    if (!this.#held || this.#awaited > 0 || this.#idle.length > 0) return;
    this.#held = false;
    this.#native.unref();
  }
}
