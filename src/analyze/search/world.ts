/** What a search needs of the world, and what it finds. */

import type { Candidate } from '../space/space.js';
import type { Figures, Score } from './objective.js';
import type { LimitTest, Ratio, Settled } from './verdict.js';

/** The outcome of a measurement: figures, or why there are none. */
export type Measured = { readonly figures: Figures } | { readonly failure: string };

/** A part of the search. */
export type Phase = 'present' | 'grid' | 'steps' | 'simpler' | 'rounds';

/** What the search needs of the world. */
export interface SearchWorld {
  /** Measures a candidate, each level for `windowMs`. */
  measure(candidate: Candidate, windowMs: number): Promise<Measured>;
  /** Milliseconds. */
  now(): number;
  /** When the time began; undefined: with the search. */
  readonly beganMs?: number;
  /** Whether the search is to end at once, with what it has. */
  stopped(): boolean;
  /** Whether the time is over, which ends the measurement under way; undefined: measurements are not ended. */
  isOver?(): boolean;
  /** Hears of each measurement before it begins. */
  told(progress: SearchProgress): void;
}

/** How far the search is. */
export interface SearchProgress {
  readonly phase: Phase;
  readonly candidate: Candidate;
  /** The best candidate so far, with its score. */
  readonly best: { readonly candidate: Candidate; readonly score: Score } | undefined;
  /** Measurements so far. */
  readonly measurements: number;
  /** Milliseconds since the start, and at most. */
  readonly elapsedMs: number;
  readonly budgetMs: number;
}

/** A candidate that was measured. */
export interface Tried {
  readonly candidate: Candidate;
  /** Of all its measurements; undefined: there are none. */
  readonly figures: Figures | undefined;
  /** The sum of its windows. */
  readonly windowMs: number;
  /** Why it has no figures. */
  readonly failure: string | undefined;
}

/** What the search found. */
export interface SearchResult {
  /** In the order in which they were measured first; the first one is the present configuration. */
  readonly tried: readonly Tried[];
  /** The best candidate, which may be the present one. */
  readonly best: Candidate;
  /** The comparison with the present configuration; undefined: there were no rounds. */
  readonly verdict: Verdict | undefined;
  /** Whether the best candidate is to replace the present one. */
  readonly proposed: boolean;
  /** Whether the search ended before its time. */
  readonly stopped: boolean;
  readonly elapsedMs: number;
}

/** The comparison of the best candidate with the present configuration. */
export interface Verdict {
  readonly rounds: number;
  readonly windowMs: number;
  readonly present: Settled;
  readonly best: Settled;
  readonly ratio: Ratio;
  /** Undefined: the objective has no limits. */
  readonly limit: LimitTest | undefined;
}
