/** The interface of the contestants that the benchmark compares. */
import type { Histogram } from '../reports/histogram.js';
import type { ContestantName, Round } from '../reports/results.js';

/** A contestant that answers requests: each is a call that returns a promise. */
export interface Caller {
  readonly kind: 'caller';
  readonly name: ContestantName;
  /**
   * Makes the request for item `index` of the list that the contestant was opened with. It starts from the typed
   * array, and does for each request all that a user's code would do.
   */
  readonly infer: (index: number) => Promise<unknown>;
  /** The numbers in an answer of `infer`. */
  readonly read: (answer: unknown) => Float32Array;
  /** How many batches of each size have run since it was opened. */
  readonly batches?: () => Histogram;
  readonly close: () => Promise<void>;
}

/** A contestant that runs batches without callers, as fast as it can. */
export interface BareLoop {
  readonly kind: 'loop';
  readonly name: ContestantName;
  readonly measure: (milliseconds: number) => Promise<Round>;
  /** The batch size that it runs, and how it was found. */
  readonly how: string;
  readonly close: () => Promise<void>;
}

/** A contestant. */
export type Contestant = Caller | BareLoop;

/** Number of threads of a contestant; undefined: its own default. */
export type Threads = number | undefined;
