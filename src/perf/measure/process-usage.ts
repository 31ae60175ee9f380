/** What this process uses while it measures: processor, memory, and how late its event loop is. */

import { DurationHistogram } from './histogram.js';

/** Use of the process over a stretch of time. */
export interface ProcessUse {
  /** Processor time by elapsed time: 1 is one core. */
  readonly cores: number;
  /** Resident memory at the end, in bytes. */
  readonly residentBytes: number;
  /** How much later than due a timer of one millisecond fires, in milliseconds. */
  readonly loopDelay: DurationHistogram;
}

/** Watches the process. */
export class ProcessWatch {
  #cpu: NodeJS.CpuUsage = process.cpuUsage();
  #since: number = performance.now();
  #delay: DurationHistogram = new DurationHistogram();
  #due = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Starts to watch. {@link stop} must be called. */
  start(): void {
    this.take();
    this.#set();
  }

  /** The use since the last call. */
  take(): ProcessUse {
    const now = performance.now();
    const { user, system } = process.cpuUsage(this.#cpu);
    const elapsedMs = now - this.#since;
    const use = {
      cores: elapsedMs > 0 ? (user + system) / 1000 / elapsedMs : 0,
      residentBytes: process.memoryUsage.rss(),
      loopDelay: this.#delay,
    };
    this.#cpu = process.cpuUsage();
    this.#since = now;
    this.#delay = new DurationHistogram();
    return use;
  }

  /** Ends the watch. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #set(): void {
    this.#due = performance.now() + 1;
    this.#timer = setTimeout(() => {
      this.#delay.add(performance.now() - this.#due);
      this.#set();
    }, 1);
  }
}

/** The use of several stretches of time together: processor by their lengths, the last memory, all delays. */
export function mergeUse(uses: readonly (ProcessUse & { readonly elapsedMs: number })[]): ProcessUse {
  const loopDelay = new DurationHistogram();
  let elapsedMs = 0;
  let coreMs = 0;
  for (const use of uses) {
    elapsedMs += use.elapsedMs;
    coreMs += use.cores * use.elapsedMs;
    loopDelay.merge(use.loopDelay);
  }
  return {
    cores: elapsedMs > 0 ? coreMs / elapsedMs : 0,
    residentBytes: uses.at(-1)?.residentBytes ?? 0,
    loopDelay,
  };
}
