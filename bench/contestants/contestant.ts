/** What a benchmark asks of everybody it compares. */
import type { Histogram } from '../histogram.js';
import type { ContestantName, Round } from '../results.js';

/** Answers requests, each a call with a promise. */
export interface Caller {
  readonly kind: 'caller';
  readonly name: ContestantName;
  /**
   * Makes the request for item `index` (of a list that it was opened with), from typed array on: what a user's code
   * would do anew for each request is done anew here.
   */
  readonly infer: (index: number) => Promise<unknown>;
  /** The numbers of an answer, from what `infer` promised. */
  readonly read: (answer: unknown) => Float32Array;
  /** Batches by size since it was opened. */
  readonly batches?: () => Histogram;
  readonly close: () => Promise<void>;
}

/** Runs batches without callers, as fast as it can. */
export interface BareLoop {
  readonly kind: 'loop';
  readonly name: ContestantName;
  readonly measure: (milliseconds: number) => Promise<Round>;
  /** The batch size it runs, and how it was found. */
  readonly how: string;
  readonly close: () => Promise<void>;
}

/** Anybody who takes part. */
export type Contestant = Caller | BareLoop;

/** Threads for contestants; undefined: whatever each of them does by default. */
export type Threads = number | undefined;
