/**
 * Searches the space within a time: a coarse grid whose better candidates are measured for longer and longer, steps around
 * the best ones, changes taken back that gain nothing, and rounds in turn with the present configuration. What measures, and
 * the clock, are parameters.
 */

import {
  coarseGrid,
  coarseGridSize,
  keyOf,
  neighboursOf,
  takenBack,
  type Candidate,
  type Space,
} from '../space/space.js';
import { Ledger, type Entry } from './ledger.js';
import { compareScores, type Figures, type Objective } from './objective.js';
import { leastWindowMs, planFinalists, planGrid, planRounds, shares, windowFor } from './plan.js';
import { leastGain, limitTestOf, meetsAlone, mergeRounds, ratioOf, settle, type Settled } from './verdict.js';
import type { SearchResult, SearchWorld, Verdict } from './world.js';

/** Steps go on while the best of them is better by this share. */
const leastStep = 0.01;
/** A change that gains less than this share is taken back. */
const leastPart = 0.015;
/** How many candidates begin the rounds beside the present one, and how many are left after rounds. */
const finalists = 5;
const leftAfter: ReadonlyMap<number, number> = new Map([
  [2, 3],
  [4, 2],
]);
/** Candidates that differ by more are not alike, however unsure the difference is. */
const mostAlike = 0.03;
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

/** The figures of each candidate, by the number of the round. A round in which it failed is missing. */
type RoundFigures = ReadonlyMap<string, Map<number, Figures>>;

/** A candidate of the rounds. */
interface Finalist {
  readonly candidate: Candidate;
  readonly settled: Settled;
}

class Search {
  readonly #space: Space;
  readonly #objective: Objective;
  readonly #world: SearchWorld;
  readonly #ledger: Ledger;

  constructor(space: Space, objective: Objective, budgetMs: number, world: SearchWorld) {
    this.#space = space;
    this.#objective = objective;
    this.#world = world;
    this.#ledger = new Ledger(space, objective, budgetMs, world);
  }

  async run(): Promise<SearchResult> {
    await this.#measurePresent();
    if (this.#ledger.entry(this.#ledger.present).figures === undefined)
      return this.#result(this.#ledger.present, undefined);
    const windowMs = await this.#grid();
    await this.#steps(windowMs * 2);
    const best = await this.#simpler(windowMs * 2);
    return this.#rounds(best, windowMs * 2);
  }

  /** The first measurement of a process is slower than all that follow, so that it only tells what measurements cost. */
  async #measurePresent(): Promise<void> {
    const first = await this.#ledger.measure('present', this.#ledger.present, leastWindowMs);
    if (first === undefined || this.#ledger.elapsedMs > this.#ledger.budgetMs) return;
    await this.#ledger.measure('present', this.#ledger.present, leastWindowMs);
  }

  /** The coarse grid: a part of the candidates is measured again for twice the time, and so on. Returns the first window. */
  async #grid(): Promise<number> {
    const timeMs = shares.grid * this.#ledger.budgetMs - this.#ledger.elapsedMs;
    const size = coarseGridSize(this.#space);
    const { most, windowMs: first } = planGrid(timeMs, this.#ledger.costs, size);
    let candidates = coarseGrid(this.#space, most);
    let windowMs = first;
    for (;;) {
      for (const candidate of candidates) {
        if (!this.#ledger.hasTime(shares.grid, windowMs)) return first;
        await this.#ledger.measure('grid', candidate, windowMs);
      }
      const better = candidates
        .map((candidate) => this.#ledger.entry(candidate))
        .filter(({ figures }) => figures !== undefined)
        .sort((a, b) => compareScores(this.#ledger.score(a), this.#ledger.score(b)))
        .slice(0, Math.max(2, Math.ceil(candidates.length * kept)))
        .map(({ candidate }) => candidate);
      if (better.length === candidates.length || better.length < 2) return first;
      candidates = better;
      windowMs *= 2;
    }
  }

  /** Steps of one axis around the best candidate, as long as one gains. Then the same around the next best one. */
  async #steps(windowMs: number): Promise<void> {
    const centres = new Set<string>();
    while (centres.size < mostCentres) {
      let here = this.#ledger.ranked().find(({ candidate }) => !centres.has(keyOf(candidate)));
      while (here !== undefined) {
        centres.add(keyOf(here.candidate));
        const next: Entry | 'over' | undefined = await this.#stepFrom(here, windowMs);
        if (next === 'over') return;
        here = next;
      }
      if (this.#ledger.ranked().every(({ candidate }) => centres.has(keyOf(candidate)))) return;
    }
  }

  /** The first neighbour that gains, also when both are measured again; undefined: none does. */
  async #stepFrom(here: Entry, windowMs: number): Promise<Entry | 'over' | undefined> {
    const others = neighboursOf(this.#space, here.candidate).filter((one) => this.#isNew(one, windowMs));
    for (const candidate of others) {
      const there = this.#ledger.entry(candidate);
      // The best one of many is often only lucky: both are measured again in turn.
      for (const one of [candidate, here.candidate, candidate]) {
        if (!this.#ledger.hasTime(shares.steps, windowMs)) return 'over';
        await this.#ledger.measure('steps', one, windowMs);
        if (!this.#ledger.gains(here, there, leastStep)) break;
      }
      if (this.#ledger.gains(here, there, leastStep)) return there;
    }
    return undefined;
  }

  /** Whether a candidate may still be worth a measurement with this window. */
  #isNew(candidate: Candidate, windowMs: number): boolean {
    const entry = this.#ledger.entries.find((one) => keyOf(one.candidate) === keyOf(candidate));
    return entry === undefined || (entry.failure === undefined && entry.windowMs < windowMs);
  }

  /** Takes back each change of the best candidate that gains nothing, by measurements in turn. */
  async #simpler(most: number): Promise<Candidate> {
    const leading = (): Candidate => this.#ledger.ranked()[0]?.candidate ?? this.#ledger.present;
    let best = leading();
    const timeMs = shares.simpler * this.#ledger.budgetMs - this.#ledger.elapsedMs;
    const measurements = 2 * simplerRounds * Math.max(1, this.#ledger.changes(best));
    const windowMs = windowFor(timeMs / measurements, this.#ledger.costs, most);
    for (let again = true; again;) {
      again = false;
      for (const other of takenBack(this.#space, best)) {
        if (this.#ledger.isOut(other)) continue;
        const of: [Figures[], Figures[]] = [[], []];
        for (let round = 0; round < simplerRounds; round++) {
          for (const [i, candidate] of [best, other].entries()) {
            if (!this.#ledger.hasTime(shares.simpler, windowMs)) return best;
            const figures = await this.#ledger.measure('simpler', candidate, windowMs);
            if (figures !== undefined) of[i]?.push(figures);
          }
        }
        if (this.#ledger.isOut(best)) {
          best = leading();
          again = true;
          break;
        }
        if (this.#ledger.isOut(other)) continue;
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
    return settle(this.#objective, [first, ...rest], this.#ledger.entry(this.#ledger.present).figures);
  }

  /** The best candidates and the present configuration in turn, until the time is over. */
  async #rounds(best: Candidate, least: number): Promise<SearchResult> {
    const others = this.#ledger
      .ranked()
      .map(({ candidate }) => candidate)
      .filter((one) => keyOf(one) !== keyOf(best) && this.#ledger.changes(one) > 0);
    const leftMs = this.#ledger.budgetMs - this.#ledger.elapsedMs;
    const chosen = [best, ...others]
      .filter((one) => keyOf(one) !== keyOf(this.#ledger.present) && !this.#ledger.isOut(one))
      .slice(0, planFinalists(leftMs, this.#ledger.costs, finalists));
    if (chosen.length === 0) return this.#result(this.#ledger.present, undefined);
    const extra = Math.max(0, chosen.length - 3) * 2 + Math.max(0, Math.min(3, chosen.length) - 2) * 4;
    const { rounds, windowMs } = planRounds(
      leftMs - extra * this.#ledger.costOf(least),
      this.#ledger.costs,
      Math.min(3, 1 + chosen.length),
      least,
    );
    let running = [this.#ledger.present, ...chosen];
    const of: RoundFigures = new Map(running.map((one) => [keyOf(one), new Map<number, Figures>()]));
    for (let round = 0; round < rounds; round++) {
      const roundMs = running.length * this.#ledger.costOf(windowMs);
      if (this.#ledger.elapsedMs + roundMs > this.#ledger.budgetMs) break;
      // The order turns, so that nobody always follows the same one.
      const order = running.map((_, i) => running[(i + round) % running.length] ?? this.#ledger.present);
      for (const candidate of round % 2 === 0 ? order : order.toReversed()) {
        const figures = await this.#ledger.measure('rounds', candidate, windowMs);
        if (this.#world.stopped()) return this.#result(best, undefined);
        if (this.#world.isOver?.() === true) {
          // Not all have figures of this round.
          for (const its of of.values()) its.delete(round);
          return this.#judge(this.#settledOf(chosen, of), of, windowMs);
        }
        if (figures !== undefined) of.get(keyOf(candidate))?.set(round, figures);
      }
      running = running.filter((one) => !this.#ledger.isOut(one));
      if (running.length < 2) break;
      const left = leftAfter.get(round + 1);
      if (left === undefined) continue;
      // The one whose every change gained something stays: others may be ahead by chance.
      const ahead = this.#settledOf(chosen, of).map(({ candidate }) => candidate);
      const stays = chosen.slice(0, 1).filter((one) => !this.#ledger.isOut(one));
      running = [this.#ledger.present, ...new Set([...ahead.slice(0, left), ...stays])];
    }
    return this.#judge(this.#settledOf(chosen, of), of, windowMs);
  }

  /** The candidates with all rounds of the present one, the best first. */
  #settledOf(chosen: readonly Candidate[], of: RoundFigures): readonly Finalist[] {
    const [rounds, [first, ...rest]] = this.#presentRounds(of);
    if (first === undefined) return [];
    const base = mergeRounds([first, ...rest]);
    return chosen
      .flatMap((candidate) => {
        // Rounds are compared one by one, by their numbers.
        const figures = rounds.map((round) => of.get(keyOf(candidate))?.get(round));
        const [one, ...more] = figures.filter((its) => its !== undefined);
        if (one === undefined || more.length < rest.length || this.#ledger.isOut(candidate)) return [];
        return [{ candidate, settled: settle(this.#objective, [one, ...more], base) }];
      })
      .sort((a, b) => compareScores(a.settled.score, b.settled.score));
  }

  /** The numbers of the rounds in which the present configuration has figures, and these. */
  #presentRounds(of: RoundFigures): readonly [readonly number[], readonly Figures[]] {
    const rounds = [...(of.get(keyOf(this.#ledger.present)) ?? [])];
    return [rounds.map(([round]) => round), rounds.map(([, figures]) => figures)];
  }

  #judge(settled: readonly Finalist[], of: RoundFigures, windowMs: number): SearchResult {
    const [, [first, ...rest]] = this.#presentRounds(of);
    const [winner] = settled;
    if (first === undefined || winner === undefined) return this.#result(this.#ledger.present, undefined);
    const present = settle(this.#objective, [first, ...rest], undefined);
    // Of those that are as good, the one with the fewest changes.
    const { score, values } = winner.settled;
    const [best = winner] = settled
      .filter(({ settled: { score: other, values: its } }) => {
        const { change, interval } = ratioOf(values, its);
        const within = interval === undefined ? leastGain : interval[1] - change;
        return other.meets === score.meets && change >= -Math.min(mostAlike, Math.max(leastGain, within));
      })
      .sort((a, b) => this.#ledger.changes(a.candidate) - this.#ledger.changes(b.candidate));
    const comparisons = of.size - 1;
    const verdict: Verdict = {
      rounds: 1 + rest.length,
      windowMs,
      present,
      best: best.settled,
      ratio: ratioOf(present.values, best.settled.values, comparisons),
      limit: limitTestOf(present, best.settled, comparisons),
    };
    return this.#result(best.candidate, verdict);
  }

  #result(best: Candidate, verdict: Verdict | undefined): SearchResult {
    const stopped = this.#world.stopped();
    const present = this.#ledger.entry(this.#ledger.present);
    const others = this.#ledger.entries.filter(
      (one) => one !== present && (one.figures !== undefined || one.failure !== undefined),
    );
    const tried = [present, ...others];
    const [leading] = this.#ledger.ranked();
    return {
      tried: tried.map(({ candidate, figures, windowMs, failure }) => ({
        candidate,
        figures,
        windowMs,
        failure,
      })),
      best: verdict === undefined ? (leading?.candidate ?? best) : best,
      verdict,
      proposed: verdict !== undefined && isProposed(verdict),
      stopped,
      elapsedMs: this.#ledger.elapsedMs,
    };
  }
}

/** Rounds of a comparison that decides about one change. */
const simplerRounds = 3;
/** Steps begin at this many candidates at most. */
const mostCentres = 24;

/** Whether the best candidate is better by more than chance, and by enough; or meets limits that the present one does not. */
export function isProposed({ present, best, ratio, limit }: Verdict): boolean {
  if (!best.score.meets) return false;
  if (!present.score.meets) return limit !== undefined && meetsAlone(limit);
  return ratio.significant && ratio.change >= leastGain;
}
