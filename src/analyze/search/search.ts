/**
 * Searches the space within a time: a coarse grid whose better candidates are measured for longer and longer, steps around
 * the best ones, changes taken back that gain nothing, and rounds in turn with the present configuration. What measures, and
 * the clock, are parameters.
 */

import {
  coarseGrid,
  changedIn,
  keyOf,
  neighboursOf,
  presentOf,
  takenBack,
  type Candidate,
  type Space,
} from '../space/space.js';
import { compareScores, scoreOf, type Figures, type Objective, type Score } from './objective.js';
import { costsAfter, leastWindowMs, noCosts, planGrid, planRounds, shares, type Costs } from './plan.js';
import { mergeRounds, ratioOf, settle, leastGain, type Ratio, type Settled } from './verdict.js';

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
  /** Whether the search is to end at once, with what it has. */
  stopped(): boolean;
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
  /** Of the longest measurement; undefined: there are none. */
  readonly figures: Figures | undefined;
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
}

/** Steps go on while the best of them is better by this share. */
const leastStep = 0.01;
/** A change that gains less than this share is taken back. */
const leastPart = 0.015;
/** How many candidates go through the rounds beside the present one. */
const finalists = 2;
/** In the grid, this share of the candidates is measured for longer, at least two. */
const kept = 1 / 3;

/** Searches; see the head of this file. */
export async function search(
  space: Space,
  objective: Objective,
  budgetMs: number,
  world: SearchWorld,
): Promise<SearchResult> {
  return new Search(space, objective, budgetMs, world).run();
}

/** The figures so far of a candidate. */
interface Entry {
  readonly candidate: Candidate;
  figures: Figures | undefined;
  windowMs: number;
  failure: string | undefined;
}

class Search {
  readonly #space: Space;
  readonly #objective: Objective;
  readonly #budgetMs: number;
  readonly #world: SearchWorld;
  readonly #began: number;
  readonly #entries: Map<string, Entry> = new Map();
  readonly #present: Candidate;
  /** The costs of a measurement, as far as they are known. */
  #costs: Costs = noCosts;
  #measurements = 0;

  constructor(space: Space, objective: Objective, budgetMs: number, world: SearchWorld) {
    this.#space = space;
    this.#objective = objective;
    this.#budgetMs = budgetMs;
    this.#world = world;
    this.#began = world.now();
    this.#present = presentOf(space);
  }

  async run(): Promise<SearchResult> {
    await this.#measurePresent();
    if (this.#entry(this.#present).figures === undefined) return this.#result(this.#present, undefined);
    const windowMs = await this.#grid();
    await this.#steps(windowMs * 2);
    const best = await this.#simpler(windowMs * 2);
    return this.#rounds(best, windowMs * 2);
  }

  #entry(candidate: Candidate): Entry {
    const key = keyOf(candidate);
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry: Entry = { candidate, figures: undefined, windowMs: 0, failure: undefined };
    this.#entries.set(key, entry);
    return entry;
  }

  #score({ figures }: Pick<Entry, 'figures'>): Score {
    if (figures === undefined) return { meets: false, value: -1, level: undefined };
    return scoreOf(this.#objective, figures, this.#entry(this.#present).figures);
  }

  /** The candidates with figures, the best first. Of equal ones, the one with fewer changes. */
  #ranked(): Entry[] {
    return [...this.#entries.values()]
      .filter(({ figures }) => figures !== undefined)
      .sort((a, b) => compareScores(this.#score(a), this.#score(b)) || this.#changes(a) - this.#changes(b));
  }

  #changes({ candidate }: Pick<Entry, 'candidate'>): number {
    return changedIn(this.#space, candidate).length;
  }

  #elapsed(): number {
    return this.#world.now() - this.#began;
  }

  /** Whether there is time for another measurement before a share of the budget is over. */
  #hasTime(share: number, windowMs: number): boolean {
    if (this.#world.stopped()) return false;
    return this.#elapsed() + this.#costOf(windowMs) <= share * this.#budgetMs;
  }

  #costOf(windowMs: number): number {
    return this.#costs.overheadMs + this.#costs.factor * windowMs;
  }

  /** Measures a candidate. The figures of the longest measurement are kept; equal lengths replace each other. */
  async #measure(phase: Phase, candidate: Candidate, windowMs: number): Promise<Figures | undefined> {
    const [first] = this.#ranked();
    this.#world.told({
      phase,
      candidate,
      best: first && { candidate: first.candidate, score: this.#score(first) },
      measurements: this.#measurements,
      elapsedMs: this.#elapsed(),
      budgetMs: this.#budgetMs,
    });
    const before = this.#world.now();
    const measured = await this.#world.measure(candidate, windowMs);
    const took = this.#world.now() - before;
    this.#measurements++;
    if (this.#world.stopped()) return undefined;
    const entry = this.#entry(candidate);
    if ('failure' in measured) {
      entry.failure = measured.failure;
      entry.figures = undefined;
      return undefined;
    }
    // The first measurement also compiles code, and loads runtimes.
    if (this.#measurements > 1)
      this.#costs = costsAfter(this.#costs, took, windowMs, measured.figures.levels.length);
    if (windowMs >= entry.windowMs) {
      entry.figures = measured.figures;
      entry.windowMs = windowMs;
    }
    return measured.figures;
  }

  /** The first measurement of a process is slower than all that follow, so that it only tells what measurements cost. */
  async #measurePresent(): Promise<void> {
    const first = await this.#measure('present', this.#present, leastWindowMs);
    if (first === undefined) return;
    await this.#measure('present', this.#present, leastWindowMs);
  }

  /** The coarse grid: a part of the candidates is measured again for twice the time, and so on. Returns the last window. */
  async #grid(): Promise<number> {
    const timeMs = shares.grid * this.#budgetMs - this.#elapsed();
    const { most, windowMs: first } = planGrid(timeMs, this.#costs, coarseGrid(this.#space, Infinity).length);
    let candidates = coarseGrid(this.#space, most);
    let windowMs = first;
    for (;;) {
      for (const candidate of candidates) {
        if (!this.#hasTime(shares.grid, windowMs)) return windowMs;
        await this.#measure('grid', candidate, windowMs);
      }
      const better = candidates
        .map((candidate) => this.#entry(candidate))
        .filter(({ figures }) => figures !== undefined)
        .sort((a, b) => compareScores(this.#score(a), this.#score(b)))
        .slice(0, Math.max(2, Math.ceil(candidates.length * kept)))
        .map(({ candidate }) => candidate);
      if (better.length === candidates.length || better.length < 2) return windowMs;
      candidates = better;
      windowMs *= 2;
    }
  }

  /** Steps of one axis around the best candidate, as long as they gain. Then the same around the next best one. */
  async #steps(windowMs: number): Promise<void> {
    const centres = new Set<string>();
    for (;;) {
      const centre = this.#ranked().find(({ candidate }) => !centres.has(keyOf(candidate)));
      if (centre === undefined || centres.size >= mostCentres) return;
      let here = centre;
      for (let improves = true; improves;) {
        centres.add(keyOf(here.candidate));
        improves = false;
        const others = neighboursOf(this.#space, here.candidate).filter((one) => this.#isNew(one, windowMs));
        if (others.length === 0) break;
        // The best one of many is often only lucky: it is measured again beside its neighbours.
        for (const candidate of [here.candidate, ...others]) {
          if (!this.#hasTime(shares.steps, windowMs)) return;
          await this.#measure('steps', candidate, windowMs);
        }
        const [best] = others
          .map((one) => this.#entry(one))
          .filter(({ figures }) => figures !== undefined)
          .sort((a, b) => compareScores(this.#score(a), this.#score(b)));
        if (best !== undefined && this.#gains(here, best, leastStep)) {
          here = best;
          improves = true;
        }
      }
    }
  }

  /** Whether a candidate may still be worth a measurement with this window. */
  #isNew(candidate: Candidate, windowMs: number): boolean {
    const entry = this.#entries.get(keyOf(candidate));
    return entry === undefined || (entry.failure === undefined && entry.windowMs < windowMs);
  }

  /** Whether a candidate is better than another one by more than a share. */
  #gains(before: Entry, after: Entry, share: number): boolean {
    const [a, b] = [this.#score(before), this.#score(after)];
    if (a.meets !== b.meets) return b.meets;
    return b.value > a.value * (1 + share);
  }

  /** Takes back each change of the best candidate that gains nothing, by measurements in turn. */
  async #simpler(windowMs: number): Promise<Candidate> {
    let best = this.#ranked()[0]?.candidate ?? this.#present;
    for (let again = true; again;) {
      again = false;
      for (const other of takenBack(this.#space, best)) {
        const of: [Figures[], Figures[]] = [[], []];
        for (let round = 0; round < simplerRounds; round++) {
          for (const [i, candidate] of [best, other].entries()) {
            if (!this.#hasTime(shares.simpler, windowMs)) return best;
            const figures = await this.#measure('simpler', candidate, windowMs);
            if (figures !== undefined) of[i]?.push(figures);
          }
        }
        const [mine, its] = of.map((rounds) => this.#settled(rounds));
        if (mine === undefined || its === undefined || (mine.score.meets && !its.score.meets)) continue;
        if (ratioOf(mine.values, its.values).change < -leastPart) continue;
        best = other;
        again = true;
        break;
      }
    }
    return best;
  }

  #settled(rounds: readonly Figures[]): Settled | undefined {
    const [first, ...rest] = rounds;
    if (first === undefined) return undefined;
    return settle(this.#objective, [first, ...rest], this.#entry(this.#present).figures);
  }

  /** The best candidates and the present configuration in turn, until the time is over. */
  async #rounds(best: Candidate, least: number): Promise<SearchResult> {
    const others = this.#ranked()
      .map(({ candidate }) => candidate)
      .filter((one) => keyOf(one) !== keyOf(best) && this.#changes({ candidate: one }) > 0);
    const chosen = [best, ...others].filter((one) => keyOf(one) !== keyOf(this.#present)).slice(0, finalists);
    if (chosen.length === 0) return this.#result(this.#present, undefined);
    const all = [this.#present, ...chosen];
    const leftMs = this.#budgetMs - this.#elapsed();
    const { rounds, windowMs } = planRounds(leftMs, this.#costs, all.length, least);
    const of = new Map(all.map((one): [string, Figures[]] => [keyOf(one), []]));
    for (let round = 0; round < rounds; round++) {
      // The order turns, so that nobody always follows the same one.
      const order = all.map((_, i) => all[(i + round) % all.length] ?? this.#present);
      const figures = new Map<string, Figures>();
      for (const candidate of round % 2 === 0 ? order : order.toReversed()) {
        const one = await this.#measure('rounds', candidate, windowMs);
        if (one !== undefined) figures.set(keyOf(candidate), one);
      }
      if (this.#world.stopped()) break;
      // A round counts for those that it has figures of; one that fails is out.
      for (const [key, one] of figures) of.get(key)?.push(one);
    }
    return this.#judge(chosen, of, windowMs);
  }

  #judge(
    chosen: readonly Candidate[],
    of: ReadonlyMap<string, readonly Figures[]>,
    windowMs: number,
  ): SearchResult {
    const ofPresent = of.get(keyOf(this.#present)) ?? [];
    const [first, ...rest] = ofPresent;
    if (first === undefined) return this.#result(chosen[0] ?? this.#present, undefined);
    const base = mergeRounds([first, ...rest]);
    const present = settle(this.#objective, [first, ...rest], undefined);
    const settled = chosen.flatMap((candidate) => {
      const rounds = of.get(keyOf(candidate)) ?? [];
      const [one, ...more] = rounds;
      // Rounds are compared one by one, so that one that lacks a round is out.
      if (one === undefined || rounds.length < ofPresent.length) return [];
      return [{ candidate, settled: settle(this.#objective, [one, ...more], base) }];
    });
    const [winner, second] = settled.sort((a, b) => compareScores(a.settled.score, b.settled.score));
    if (winner === undefined) return this.#result(this.#present, undefined);
    // Of two that are as good, the one with fewer changes.
    const simpler =
      second !== undefined &&
      second.settled.score.meets === winner.settled.score.meets &&
      this.#changes(second) < this.#changes(winner) &&
      second.settled.score.value >= winner.settled.score.value * (1 - leastGain);
    const best = simpler ? second : winner;
    const ratio = ratioOf(present.values, best.settled.values);
    const verdict: Verdict = { rounds: ofPresent.length, windowMs, present, best: best.settled, ratio };
    return this.#result(best.candidate, verdict);
  }

  #result(best: Candidate, verdict: Verdict | undefined): SearchResult {
    const stopped = this.#world.stopped();
    const present = this.#entry(this.#present);
    const tried = [present, ...[...this.#entries.values()].filter((one) => one !== present)];
    const [leading] = this.#ranked();
    return {
      tried: tried.map(({ candidate, figures, windowMs, failure }) => ({
        candidate,
        figures,
        windowMs,
        failure,
      })),
      best: verdict === undefined && stopped ? (leading?.candidate ?? best) : best,
      verdict,
      proposed: verdict !== undefined && isProposed(verdict),
      stopped,
      elapsedMs: this.#elapsed(),
    };
  }
}

/** Rounds of a comparison that decides about one change. */
const simplerRounds = 2;
/** Steps begin at this many candidates at most. */
const mostCentres = 24;

/** Whether the best candidate is better by more than chance, and by enough; or meets limits that the present one does not. */
export function isProposed({ present, best, ratio }: Verdict): boolean {
  if (!best.score.meets) return false;
  if (!present.score.meets) return true;
  return ratio.significant && ratio.change >= leastGain;
}
