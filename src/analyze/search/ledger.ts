/** Keeps the figures of all candidates, what measurements cost, and the time. */

import { changedIn, keyOf, presentOf, type Candidate, type Space } from '../space/space.js';
import { compareScores, scoreOf, weighMeans, type Figures, type Objective, type Score } from './objective.js';
import { costsAfter, leastWindowMs, noCosts, type Costs } from './plan.js';
import type { Phase, SearchWorld, Tried } from './world.js';

/** The figures so far of a candidate. */
export interface Entry extends Tried {
  figures: Figures | undefined;
  windowMs: number;
  failure: string | undefined;
  /** Whether its figures are of a process that was still warming up. */
  cold: boolean;
}

/** How much less a measurement of the shortest window counts than one without end. */
const doubt = 0.03;

/** See the head of this file. */
export class Ledger {
  readonly #space: Space;
  readonly #objective: Objective;
  readonly #world: SearchWorld;
  readonly #began: number;
  readonly #entries: Map<string, Entry> = new Map();
  #costs: Costs = noCosts;
  #measurements = 0;
  readonly budgetMs: number;
  readonly present: Candidate;

  constructor(space: Space, objective: Objective, budgetMs: number, world: SearchWorld) {
    this.#space = space;
    this.#objective = objective;
    this.#world = world;
    this.#began = world.beganMs ?? world.now();
    this.budgetMs = budgetMs;
    this.present = presentOf(space);
  }

  /** The costs of a measurement, as far as they are known. */
  get costs(): Costs {
    return this.#costs;
  }

  /** All candidates so far, in the order in which they came up. */
  get entries(): readonly Entry[] {
    return [...this.#entries.values()];
  }

  /** Milliseconds since the start. */
  get elapsedMs(): number {
    return this.#world.now() - this.#began;
  }

  entry(candidate: Candidate): Entry {
    const key = keyOf(candidate);
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry: Entry = { candidate, figures: undefined, windowMs: 0, failure: undefined, cold: true };
    this.#entries.set(key, entry);
    return entry;
  }

  score({ figures }: Pick<Entry, 'figures'>): Score {
    if (figures === undefined) return { meets: false, value: -1, level: undefined };
    return scoreOf(this.#objective, figures, this.entry(this.present).figures);
  }

  /** Whether a candidate is better than another one by more than a share. */
  gains(before: Entry, after: Entry, share: number): boolean {
    const [a, b] = [this.score(before), this.score(after)];
    if (a.meets !== b.meets) return b.meets;
    return b.value > a.value * (1 + share);
  }

  /** The candidates with figures, the best first. Of equal ones, the one with fewer changes. */
  ranked(): Entry[] {
    return this.entries
      .filter(({ figures }) => figures !== undefined)
      .sort(
        (a, b) =>
          compareScores(this.#careful(a), this.#careful(b)) ||
          this.changes(a.candidate) - this.changes(b.candidate),
      );
  }

  /** Whether a candidate has failed, which rules it out for good. The present configuration is always in. */
  isOut(candidate: Candidate): boolean {
    return keyOf(candidate) !== keyOf(this.present) && this.entry(candidate).failure !== undefined;
  }

  /** How many settings a candidate changes. */
  changes(candidate: Candidate): number {
    return changedIn(this.#space, candidate).length;
  }

  /** Whether there is time for another measurement before a share of the budget is over. */
  hasTime(share: number, windowMs: number): boolean {
    if (this.#world.stopped()) return false;
    return this.elapsedMs + this.costOf(windowMs) <= share * this.budgetMs;
  }

  costOf(windowMs: number): number {
    return this.#costs.overheadMs + this.#costs.factor * windowMs;
  }

  /** Measures a candidate. Its figures are the means of all its measurements, by their lengths. */
  async measure(phase: Phase, candidate: Candidate, windowMs: number): Promise<Figures | undefined> {
    if (this.isOut(candidate)) return undefined;
    const [first] = this.ranked();
    this.#world.told({
      phase,
      candidate,
      best: first && { candidate: first.candidate, score: this.score(first) },
      measurements: this.#measurements,
      elapsedMs: this.elapsedMs,
      budgetMs: this.budgetMs,
    });
    const before = this.#world.now();
    const measured = await this.#world.measure(candidate, windowMs);
    const tookMs = this.#world.now() - before;
    this.#measurements++;
    // What the end of the time has cut off says nothing about the candidate.
    const isCut = 'failure' in measured && this.#world.isOver?.() === true;
    if (this.#world.stopped() || isCut) return undefined;
    const entry = this.entry(candidate);
    if ('failure' in measured) {
      entry.failure = measured.failure;
      // All others are compared with what is known of the present configuration.
      if (keyOf(candidate) !== keyOf(this.present)) entry.figures = undefined;
      return undefined;
    }
    const { figures } = measured;
    // The first measurement also compiles code, and loads runtimes.
    if (this.#measurements > 1)
      this.#costs = costsAfter(this.#costs, tookMs, windowMs, figures.levels.length);
    entry.figures = entry.cold ? figures : weighMeans(entry.figures, entry.windowMs, figures, windowMs);
    entry.windowMs = entry.cold ? windowMs : entry.windowMs + windowMs;
    entry.cold = phase === 'present';
    return figures;
  }

  /**
   * The score for an order. Of many short measurements the best one is mostly lucky, so that a short one counts for a little
   * less than a long one.
   */
  #careful(entry: Entry): Score {
    const score = this.score(entry);
    const less = doubt * Math.sqrt(leastWindowMs / Math.max(1, entry.windowMs));
    return { ...score, value: score.value * (1 - less) };
  }
}
