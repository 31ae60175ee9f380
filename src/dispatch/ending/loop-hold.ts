/** Keeps the event loop alive while a caller waits for a response, or for the end of all requests. */

import type { NativePort } from '../../addon/native/port.js';

/** See the head of this file. An engine connection has one. */
export class LoopHold {
  readonly #native: Pick<NativePort, 'ref' | 'unref'>;
  /** Number of sent requests that have a waiter. */
  #awaited = 0;
  /** Called when all requests have ended. */
  #idle: (() => void)[] = [];
  #held = false;

  constructor(native: Pick<NativePort, 'ref' | 'unref'>) {
    this.#native = native;
  }

  /** Whether no sent request has a waiter. */
  get none(): boolean {
    return this.#awaited === 0;
  }

  /** Adds `count` requests with waiters. Until {@link hold} is called, a scheduled flush keeps the loop alive. */
  sent(count: number): void {
    this.#awaited += count;
  }

  /** Records that `count` requests no longer wait. */
  settled(count: number): void {
    this.#awaited -= count;
  }

  /** Resolves at the next {@link notifyIdle}. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.hold();
    });
  }

  /** Called when all requests have ended. */
  notifyIdle(): void {
    if (this.#idle.length === 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  /** Keeps the process alive if there are waiters. */
  hold(): void {
    if (this.#held || (this.#awaited === 0 && this.#idle.length === 0)) return;
    this.#held = true;
    this.#native.ref();
  }

  /** Lets the process end if there are no waiters. */
  release(): void {
    if (!this.#held || this.#awaited > 0 || this.#idle.length > 0) return;
    this.#held = false;
    this.#native.unref();
  }
}
