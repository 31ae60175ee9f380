/** Measures one contestant under one load: a closed loop with a number of outstanding requests. */
import { ascending, percentile } from '../reports/statistics.js';
import type { Caller } from '../contestants/contestant.js';
import type { Latency, Round } from '../reports/results.js';

/** The load of a measurement. */
export interface Load {
  /** Number of loops. Each waits for an answer before it asks again. */
  readonly outstanding: number;
  /** Time before the measured window, in milliseconds. */
  readonly warmUpMs: number;
  /** Length of the measured window in milliseconds. It ends with the next turn of the event loop. */
  readonly windowMs: number;
  /**
   * Number of loops that read the clock twice for each request. That costs about 100 ns. So if answers take
   * little time, only a few loops do it, and stand for the others.
   */
  readonly timed: number;
}

/** How many loops to time: all of them, or each 64th if answers are fast. */
export function timedLoops(outstanding: number, fast: boolean): number {
  return fast ? Math.max(1, Math.floor(outstanding / 64)) : outstanding;
}

type State = 'warming up' | 'beginning' | 'measuring' | 'ending' | 'over';

/** The loops of one measurement, with their counts. */
class ClosedLoop {
  readonly #caller: Caller;
  readonly #load: Load;
  readonly #beginAt: number;
  #state: State = 'warming up';
  #answers = 0;
  #next = 0;
  /** Counts from before the window, then from within it. */
  #before = 0;
  #measured = 0;
  #begin = 0;
  #end = 0;
  readonly #latencies: number[] = [];

  constructor(caller: Caller, load: Load) {
    this.#caller = caller;
    this.#load = load;
    this.#beginAt = performance.now() + load.warmUpMs;
  }

  async run(): Promise<Round> {
    const { outstanding, timed } = this.#load;
    const loops: Promise<void>[] = [];
    for (let i = 0; i < outstanding; i++) loops.push(i < timed ? this.#timedLoop() : this.#loop());
    await Promise.all(loops);
    const seconds = (this.#end - this.#begin) / 1000;
    return {
      answers: this.#measured,
      seconds,
      requestsPerSecond: this.#measured / seconds,
      latency: latencyOf(this.#latencies),
    };
  }

  async #loop(): Promise<void> {
    const { infer, read } = this.#caller;
    while (this.#state !== 'over') {
      read(await infer(this.#next++));
      this.#answers++;
    }
  }

  async #timedLoop(): Promise<void> {
    const { infer, read } = this.#caller;
    while (this.#state !== 'over') {
      const asked = performance.now();
      read(await infer(this.#next++));
      this.#answers++;
      const answered = performance.now();
      if (this.#state === 'measuring') this.#latencies.push(answered - asked);
      this.#advance(answered);
    }
  }

  /**
   * Answers may come in bursts, a batch at a time. The window begins and ends with a turn of the event loop,
   * after a whole burst, so that it holds whole bursts and the time that they took.
   */
  #advance(now: number): void {
    if (this.#state === 'warming up' && now >= this.#beginAt) {
      this.#state = 'beginning';
      setImmediate(() => {
        this.#begin = performance.now();
        this.#before = this.#answers;
        this.#state = 'measuring';
      });
    } else if (this.#state === 'measuring' && now >= this.#begin + this.#load.windowMs) {
      this.#state = 'ending';
      setImmediate(() => {
        this.#end = performance.now();
        this.#measured = this.#answers - this.#before;
        this.#state = 'over';
      });
    }
  }
}

function latencyOf(milliseconds: readonly number[]): Latency {
  const sorted = ascending(milliseconds);
  return {
    p50: percentile(sorted, 0.5),
    p95: percentile(sorted, 0.95),
    p99: percentile(sorted, 0.99),
  };
}

/** Measures a contestant. Resolves when every request has its answer. */
export function measure(caller: Caller, load: Load): Promise<Round> {
  return new ClosedLoop(caller, load).run();
}
