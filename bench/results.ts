/** What a benchmark run comes to: plain data, for the tables, for `--json`, and for whatever else draws it. */
import type { Histogram } from './histogram.js';
import type { Measured } from './limits.js';
import type { Estimate } from './statistics.js';

/** Ours: with its defaults, and with every request on a thread of the engine. */
export type OurName = 'tritonts' | 'tritonts, inline off';

/** Who is compared. 'setImmediate' and 'idle loop' are yardsticks, not rivals. */
export type ContestantName =
  | OurName
  | 'onnxruntime-node'
  | 'batched by hand'
  | 'piscina'
  | 'bare C++ loop'
  | 'setImmediate'
  | 'idle loop';

/** One contestant under one load in one round. */
export interface Round {
  /** Answers in the measured window. */
  readonly answers: number;
  /** Length of the window. */
  readonly seconds: number;
  readonly requestsPerSecond: number;
  /** Milliseconds from call to answer; undefined for the bare loop, whose requests do not wait. */
  readonly latency: Latency | undefined;
}

/** Percentiles of milliseconds. */
export interface Latency {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** One contestant under one load, over all rounds. */
export interface ContestantRow {
  readonly contestant: ContestantName;
  readonly rounds: readonly Round[];
  readonly requestsPerSecond: Estimate;
  /** Medians over the rounds. */
  readonly latency: Latency | undefined;
  /** How often each batch size ran, where the contestant forms batches. */
  readonly batches: Histogram | undefined;
  /** The requests per second of each of ours divided by this contestant's, round by round; empty for ourselves. */
  readonly ratios: Partial<Readonly<Record<OurName, Estimate>>>;
}

/** One load: a model and a number of requests outstanding. */
export interface LoadRow {
  readonly model: string;
  readonly outstanding: number;
  readonly contestants: readonly ContestantRow[];
}

/** A delay of the event loop. */
export interface DelaySample {
  /** Milliseconds since the start of the measurement. */
  readonly at: number;
  /** Milliseconds that a timer came late. */
  readonly late: number;
}

/** How late timers come while a contestant is at work. */
export interface DelayRow {
  readonly model: string;
  readonly outstanding: number;
  readonly contestant: ContestantName;
  /** Milliseconds, over the rounds. */
  readonly p99: Estimate;
  readonly longest: Estimate;
  /** Of the last round. */
  readonly timeLine: readonly DelaySample[];
}

/** Where and with what the numbers came about. */
export interface Machine {
  readonly cpu: string;
  /** Cores that this process may use. */
  readonly cores: number;
  readonly memoryGiB: number;
  /** Of the last minute before the run: what else the machine had to do. */
  readonly load: number;
  readonly platform: string;
  readonly node: string;
  readonly commit: string;
}

/** What was set equal for all contestants, or left to their defaults. */
export interface Setup {
  /** 'equal': the same threads for everybody; 'defaults': what each does when nothing is said. */
  readonly threading: 'equal' | 'defaults';
  /** Threads of a run, in all; undefined where each contestant has its own default. */
  readonly threads: number | undefined;
  readonly rounds: number;
}

/** How a model was run by each contestant, in words. */
export interface ModelHead {
  readonly model: string;
  readonly title: string;
  readonly how: string;
  /** Length of a turn under its loads. */
  readonly windowMs: number;
}

/** What loads of models came to, all contestants set up alike. */
export interface Part {
  readonly setup: Setup;
  readonly models: readonly ModelHead[];
  readonly loads: readonly LoadRow[];
}

/** A whole run. */
export interface Results extends Part {
  readonly machine: Machine;
  /** Path and version of the runtime's library, the same file for everybody. */
  readonly library: { readonly path: string; readonly version: string } | undefined;
  readonly delays: readonly DelayRow[];
  /** Strings and weights. */
  readonly measured: readonly Measured[];
  /** The required loads once more, with everybody's defaults, where a run has them as its second part. */
  readonly defaults: Part | undefined;
  /** What could not be measured, and why. */
  readonly notes: readonly string[];
}
