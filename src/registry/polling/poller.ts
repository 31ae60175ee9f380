/**
 * Decides when a poll runs: at the end of each period, and when a program asks. Polls never overlap, but for what takes long
 * in one of them: that goes on, and the next ones leave it alone.
 */

import type { RescanResult } from '../../api/rescan.js';
import { clearTimeout, setTimeout } from '../../timers.js';
import { unavailable } from '../../errors.js';
import type { Log } from '../../logger.js';
import { thrownText } from '../../thrown-text.js';
import { Wait } from '../../waits.js';
import type { Polled } from './polls.js';

/** A poll that is under way, or comes next. */
interface Poll {
  /** What it waits for, and who waits for it. */
  readonly wait: Wait;
  readonly result: Promise<RescanResult>;
  /** Resolves when the next one may begin. It does not reject. */
  readonly end: Promise<void>;
}

/** See the head of this file. */
export class Poller {
  readonly #poll: (wait: Wait, isAsked: boolean) => Promise<Polled>;
  readonly #log: Log;
  /** The time from the end of a poll to the next; 0: only when a program asks. */
  #periodMs = 0;
  #running: Poll | undefined;
  /** The poll that begins when the running one has ended. All who ask meanwhile share it. */
  #next: Poll | undefined;
  /** The results of polls that have not ended. */
  readonly #open: Set<Promise<unknown>> = new Set();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(poll: (wait: Wait, isAsked: boolean) => Promise<Polled>, log: Log) {
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
   * @param asker - The load or run of a model that calls, and waits for it.
   * @throws {@link TritonError} UNAVAILABLE (`CIRCULAR_CALL`) if the poll would wait for the caller; what the poll throws.
   */
  async now(asker?: Wait): Promise<RescanResult> {
    const circle = asker && (this.#next ?? this.#running)?.wait.circleWith(asker);
    if (circle !== undefined) {
      throw unavailable('CIRCULAR_CALL', `this poll of the repositories would wait for itself: ${circle}`);
    }
    const { wait, result } = this.#next ?? (this.#running ? this.#follow(this.#running) : this.#begin(true));
    const answered = asker?.begin(wait);
    try {
      return await result;
    } finally {
      answered?.();
    }
  }

  /** No poll begins by itself any more. One that is under way ends when loads are cancelled. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Resolves when no poll is under way. It does not reject. */
  get settled(): Promise<unknown> {
    return Promise.allSettled([this.#running?.end, this.#next?.end, ...this.#open]);
  }

  #follow(running: Poll): Poll {
    const wait = newWait();
    wait.begin(running.wait);
    const begun = running.end.then(() => {
      this.#next = undefined;
      return this.#begin(true, wait);
    });
    const result = begun.then((poll) => poll.result);
    const end = begun.then((poll) => poll.end);
    return (this.#next = { wait, result, end });
  }

  #begin(isAsked: boolean, wait: Wait = newWait()): Poll {
    clearTimeout(this.#timer);
    const polled = this.#poll(wait, isAsked);
    const result = polled.then((poll) => poll.result);
    const ended = result
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => this.#open.delete(ended));
    this.#open.add(ended);
    const end = polled
      .then(
        (poll) => poll.note(),
        () => undefined,
      )
      .finally(() => {
        this.#running = undefined;
        this.#wait();
      });
    return (this.#running = { wait, result, end });
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
    this.#begin(false).result.catch((error: unknown) => {
      if (!this.#isStopped)
        this.#log.error(`polling the model repositories failed: ${thrownText(error)}`, {});
    });
  }
}

function newWait(): Wait {
  return new Wait('poll', 'poll of the repositories');
}

function wake(poller: WeakRef<Poller>): void {
  poller.deref()?.tick();
}
