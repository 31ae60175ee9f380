/** Decides when a poll runs: at the end of each period, and when a program asks. Polls never overlap. */

import type { RescanResult } from '../../api/rescan.js';
import { clearTimeout, setTimeout } from '../../dispatch/ending/timers.js';
import type { Log } from '../../logger.js';
import { thrownText } from '../../thrown-text.js';

/** See the head of this file. */
export class Poller {
  readonly #poll: () => Promise<RescanResult>;
  readonly #log: Log;
  /** The time from the end of a poll to the next; 0: only when a program asks. */
  #periodMs = 0;
  #running: Promise<RescanResult> | undefined;
  /** The poll that begins when the running one has ended. All who ask meanwhile share it. */
  #next: Promise<RescanResult> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(poll: () => Promise<RescanResult>, log: Log) {
    this.#poll = poll;
    this.#log = log;
  }

  /** Begins to poll. It does not keep the process alive, nor a server that the program has dropped. */
  begin(periodMs: number): void {
    this.#periodMs = periodMs;
    this.#wait();
  }

  /**
   * A poll that begins after this call: one that is under way may have looked already.
   *
   * @throws What the poll throws.
   */
  now(): Promise<RescanResult> {
    if (this.#next) return this.#next;
    if (!this.#running) return this.#begin();
    this.#next = this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  /** No poll begins by itself any more. One that is under way ends when loads are cancelled. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Resolves when no poll is under way. It does not reject. */
  get settled(): Promise<unknown> {
    return Promise.allSettled([this.#running, this.#next]);
  }

  #begin(): Promise<RescanResult> {
    clearTimeout(this.#timer);
    const running = this.#poll().finally(() => {
      this.#running = undefined;
      this.#wait();
    });
    this.#running = running;
    return running;
  }

  #wait(): void {
    if (this.#isStopped || this.#periodMs === 0) return;
    clearTimeout(this.#timer);
    // Nothing here may refer to the server but weakly.
    this.#timer = setTimeout(wake, this.#periodMs, new WeakRef(this));
    this.#timer.unref();
  }

  /** The timer's poll. What it changes is in the log. */
  tick(): void {
    if (this.#isStopped || this.#running || this.#next) return;
    this.#begin().catch((error: unknown) => {
      if (!this.#isStopped)
        this.#log.error(`polling the model repositories failed: ${thrownText(error)}`, {});
    });
  }
}

function wake(poller: WeakRef<Poller>): void {
  poller.deref()?.tick();
}
