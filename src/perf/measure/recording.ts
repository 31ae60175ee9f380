/**
 * Where requests note that they have ended. A window is a number of slices, each with a tally. Slices are compared
 * between runs (`--compare`), and merged for all other figures.
 */

import { Tally } from './tally.js';

/** The rate and latencies of a slice. */
export interface SliceFigures {
  /** Successful requests a second. */
  readonly requestsPerSecond: number;
  /** Milliseconds; 0 if no request ended. */
  readonly meanMs: number;
  /** Milliseconds; 0 if no request ended. */
  readonly p99Ms: number;
}

/** A measured window. */
export interface RecordedWindow {
  readonly tally: Tally;
  readonly slices: readonly SliceFigures[];
}

/** See the head of this file. */
export class Recording {
  /** Where requests that end now are counted. */
  current: Tally = new Tally();
  #began: number = performance.now();
  /** All slices of the window so far; a window of any length has the same size. */
  #window: Tally = new Tally();
  #last: Tally | undefined;
  #slices: SliceFigures[] = [];

  /** Successful requests since the last call of {@link takeWindow}. */
  get requests(): number {
    return this.#window.requests + this.current.requests;
  }

  /** Refused requests since the last call of {@link takeWindow}. */
  get refusals(): number {
    return this.#window.refusals + this.current.refusals;
  }

  /** The last slice that has ended, or the running one if none has. */
  soFar(): Tally {
    if (this.#last !== undefined) return this.#last;
    this.current.elapsedMs = performance.now() - this.#began;
    return this.current;
  }

  /** Forgets everything so far, and begins a window. */
  restart(): void {
    this.current = new Tally();
    this.takeWindow();
    this.#began = performance.now();
  }

  /** Ends a slice, and begins the next one. */
  cut(): void {
    const now = performance.now();
    const slice = this.current;
    slice.elapsedMs = now - this.#began;
    this.#window.merge(slice);
    this.#last = slice;
    this.#slices.push({
      requestsPerSecond: slice.requestRate,
      meanMs: slice.latency.meanMs,
      p99Ms: slice.latency.percentileMs(99),
    });
    this.current = new Tally();
    this.#began = now;
  }

  /** The window that ended with the last cut. Begins the next one at that moment. */
  takeWindow(): RecordedWindow {
    const window = { tally: this.#window, slices: this.#slices };
    this.#window = new Tally();
    this.#last = undefined;
    this.#slices = [];
    return window;
  }
}
