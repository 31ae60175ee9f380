/** One contestant under one load for a while: a closed loop with a number of requests outstanding. */
import { ascending, percentile } from './statistics.js';
import type { Caller } from './contestants/contestant.js';
import type { Latency, Round } from './results.js';

/** What one measurement takes. */
export interface Load {
  /** Loops that each wait for an answer before they ask again. */
  readonly outstanding: number;
  /** Before the measured window, in milliseconds. */
  readonly warmUpMs: number;
  /** Length of the measured window in milliseconds; it ends with the turn of the event loop after that. */
  readonly windowMs: number;
  /**
   * Loops that read the clock twice for each request. It costs some 100 ns, so where answers take little it is a few
   * loops only, which speak for the others.
   */
  readonly timed: number;
}

/** How many loops to time: all of them, or of fast ones each 64th. */
export function timedLoops(outstanding: number, fast: boolean): number {
  return fast ? Math.max(1, Math.floor(outstanding / 64)) : outstanding;
}

type State = 'warming up' | 'beginning' | 'measuring' | 'ending' | 'over';

/** The loops of one measurement, and what they count. */
class ClosedLoop {
  readonly #caller: Caller;
  readonly #load: Load;
  readonly #beginAt: number;
  #state: State = 'warming up';
  #answers = 0;
  #next = 0;
  /** Before the window, then in it. */
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
   * Answers may come in bursts, a batch at a time. The window begins and ends with a turn of the event loop, after all
   * of a burst, so that it holds whole bursts and the time that they took.
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

/** Measures; resolves when every request has its answer. */
export function measure(caller: Caller, load: Load): Promise<Round> {
  return new ClosedLoop(caller, load).run();
}
