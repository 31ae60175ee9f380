/**
 * Requests at given times, whether or not those before have ended. The latency counts from when a request was sent; how
 * much later than scheduled that was is recorded beside it.
 */

import { longestTimerMs } from '../../time-limit.js';
import type { Recording } from '../measure/recording.js';
import type { Target } from '../targets/target.js';
import type { Arrivals } from './arrivals.js';
import { Load, type Slot } from './load.js';
import type { StepSources } from './step-source.js';

/** The timers of Node have a resolution of a millisecond, so the last part of a wait is spent in turns of the event loop. */
const turnsMs = 2;
/** How many requests are sent in one turn, so that answers are read in between. */
const mostInTurn = 64;

/** See the head of this file. */
export class OpenLoop extends Load {
  readonly #arrivals: Arrivals;
  readonly #most: number;
  #left: number;
  readonly #free: Slot[] = [];
  #slots = 0;
  #due = 0;
  #timer: NodeJS.Timeout | undefined;
  #turn: NodeJS.Immediate | undefined;

  /**
   * @param atOnce - How many requests may be under way; further ones are late. With sequences: how many are open.
   * @param most - How many requests are sent in all.
   */
  constructor(
    target: Target,
    sources: StepSources,
    recording: Recording,
    failed: (error: unknown) => void,
    arrivals: Arrivals,
    atOnce: number,
    most: number = Infinity,
  ) {
    super(target, sources, recording, failed);
    this.#arrivals = arrivals;
    this.#most = atOnce;
    this.#left = most;
  }

  start(): void {
    this.#due = performance.now() + this.#arrivals();
    this.#wait(performance.now());
  }

  protected halt(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
  }

  protected freed(slot: Slot): void {
    this.#free.push(slot);
  }

  /** The slot that was free for the longest time, so that open sequences take turns. */
  #takeSlot(): Slot | undefined {
    // With sequences all slots are used in turn, from the first request on.
    if (this.#slots < this.#most && (this.#free.length === 0 || this.#free[0]?.source.open === true)) {
      this.#slots++;
      return this.makeSlot();
    }
    return this.#free.shift();
  }

  readonly #tick = (): void => {
    let now = performance.now();
    for (let sent = 0; sent < mostInTurn && this.#due <= now && this.#left > 0; sent++) {
      const slot = this.#takeSlot();
      if (slot === undefined) break;
      this.#left--;
      this.send(slot, now - this.#due);
      this.#due += this.#arrivals();
      now = performance.now();
    }
    if (this.#left > 0) this.#wait(now);
  };

  #wait(now: number): void {
    if (this.stopping) return;
    const wait = this.#due - now;
    if (wait > turnsMs) this.#timer = setTimeout(this.#tick, Math.min(Math.floor(wait - 1), longestTimerMs));
    else this.#turn = setImmediate(this.#tick);
  }
}
