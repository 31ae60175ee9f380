/** Measures how late the event loop serves timers, which affects all other code in the process. */
import { ascending, percentile } from '../reports/statistics.js';
import type { DelaySample } from '../reports/results.js';

/** The results of a {@link LoopDelay}, in milliseconds. */
export interface Delays {
  readonly p99: number;
  readonly longest: number;
  readonly samples: readonly DelaySample[];
}

/** The shortest timer that exists, in milliseconds. */
const intervalMs = 1;

/** Sets one timer of a millisecond after another until `stop`, and notes how late each comes. */
export class LoopDelay {
  readonly #samples: DelaySample[] = [];
  readonly #start: number = performance.now();
  #last: number = this.#start;
  #timer: NodeJS.Timeout = setTimeout(() => {
    this.#fired();
  }, intervalMs);

  #fired(): void {
    this.#note();
    this.#timer = setTimeout(() => {
      this.#fired();
    }, intervalMs);
  }

  #note(): void {
    const now = performance.now();
    this.#samples.push({ at: now - this.#start, late: Math.max(0, now - this.#last - intervalMs) });
    this.#last = now;
  }

  /** Ends the measurement. A timer that is late at this moment counts, too. */
  stop(): Delays {
    clearTimeout(this.#timer);
    this.#note();
    const late = ascending(this.#samples.map((sample) => sample.late));
    return { p99: percentile(late, 0.99), longest: percentile(late, 1), samples: this.#samples };
  }
}
