/**
 * The results of a run as plain data, for the tables, for `--json`, and for anything else that draws them.
 */
import type { Histogram } from './histogram.js';
import type { Measured } from '../limits/limits.js';
import type { Estimate } from './statistics.js';

/** tritonts with its defaults, and with every request on a thread of the engine. */
export type OurName = 'tritonts' | 'tritonts, inline off';

/** The contestants. 'setImmediate' and 'idle loop' are yardsticks, not rivals. */
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
  /** How many batches of each size ran, if the contestant forms batches. */
  readonly batches: Histogram | undefined;
  /**
   * The requests per second of tritonts divided by this contestant's, round by round; empty for tritonts
   * itself.
   */
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
  /** How late a timer came, in milliseconds. */
  readonly late: number;
}

/** How late timers come while a contestant works. */
export interface DelayRow {
  readonly model: string;
  readonly outstanding: number;
  readonly contestant: ContestantName;
  /** Milliseconds, over the rounds. */
  readonly p99: Estimate;
  readonly longest: Estimate;
  /** The delays of the last round. */
  readonly timeLine: readonly DelaySample[];
}

/** The machine that the numbers were measured on. */
export interface Machine {
  readonly cpu: string;
  /** Cores that this process may use. */
  readonly cores: number;
  readonly memoryGiB: number;
  /** Load average of the minute before the run: the other work of the machine. */
  readonly load: number;
  readonly platform: string;
  readonly node: string;
  readonly commit: string;
}

/** The settings that were equal for all contestants. */
export interface Setup {
  /** 'equal': all contestants have the same number of threads. 'defaults': each uses its own default. */
  readonly threading: 'equal' | 'defaults';
  /** Number of threads of a run; undefined if each contestant has its own default. */
  readonly threads: number | undefined;
  readonly rounds: number;
}

/** How each contestant ran a model, in words. */
export interface ModelHead {
  readonly model: string;
  readonly title: string;
  readonly how: string;
  /** Length of a turn under its loads. */
  readonly windowMs: number;
}

/** The loads of models, with the same setup for all contestants. */
export interface Part {
  readonly setup: Setup;
  readonly models: readonly ModelHead[];
  readonly loads: readonly LoadRow[];
}

/** A whole run. */
export interface Results extends Part {
  readonly machine: Machine;
  /** Path and version of the runtime's library, which all contestants share. */
  readonly library: { readonly path: string; readonly version: string } | undefined;
  readonly delays: readonly DelayRow[];
  /** Strings and weights. */
  readonly measured: readonly Measured[];
  /** The required loads with every contestant's defaults, if the run had a second part. */
  readonly defaults: Part | undefined;
  /** Parts that could not be measured, with the reasons. */
  readonly notes: readonly string[];
}
