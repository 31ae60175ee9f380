/** Compares candidates that were measured in turn, round by round. All functions are pure. */

import { tQuantile, twoSidedP } from '../../perf/report/student.js';
import {
  latencyFigures,
  scoreOf,
  type Figures,
  type LatencyFigure,
  type Objective,
  type Score,
} from './objective.js';

/** A difference is significant if equal candidates would give it with less than this probability. */
export const significance = 0.01;
/** A smaller gain is not worth a change of the configuration. */
export const leastGain = 0.01;

/** A comparison of two candidates that were measured in the same rounds. */
export interface Ratio {
  /** How much more the second one has, as a share of the first; the trimmed geometric mean of the rounds. */
  readonly change: number;
  /**
   * The ends of the change's interval, which is as wide as the test of significance demands; undefined: too few rounds.
   */
  readonly interval: readonly [least: number, most: number] | undefined;
  readonly significant: boolean;
}

/** Of many rounds, this share at each end is left out: a round in which something else had the machine. */
const trimmed = 0.15;

/**
 * Compares round by round: whatever slows the machine down slows both neighbours. It is Yuen's test of the logarithms of the
 * ratios, with trimmed means.
 *
 * @param comparisons - Of so many, this is the best one, which may be so by chance.
 */
export function ratioOf(before: readonly number[], after: readonly number[], comparisons: number = 1): Ratio {
  const logs = before.flatMap((one, i) => {
    const other = after[i];
    return other === undefined || one <= 0 || other <= 0 ? [] : [Math.log(other / one)];
  });
  const { length } = logs;
  if (length === 0) return { change: 0, interval: undefined, significant: false };
  const cut = Math.floor(trimmed * length);
  const sorted = logs.sort((a, b) => a - b);
  const mean = meanOf(sorted.slice(cut, length - cut));
  const change = Math.exp(mean) - 1;
  if (length < 2) return { change, interval: undefined, significant: false };
  const [least = mean, most = mean] = [sorted[cut], sorted[length - 1 - cut]];
  const winsorized = sorted.map((one) => Math.min(most, Math.max(least, one)));
  const centre = meanOf(winsorized);
  const variance = winsorized.reduce((sum, one) => sum + (one - centre) ** 2, 0) / (length - 1);
  const error = Math.sqrt(variance / length) / (1 - (2 * cut) / length);
  const freedom = length - 2 * cut - 1;
  const p = error === 0 ? (mean === 0 ? 1 : 0) : twoSidedP(mean / error, freedom);
  const within = error * tQuantile(significance / comparisons, freedom);
  return {
    change,
    interval: [Math.exp(mean - within) - 1, Math.exp(mean + within) - 1],
    significant: p < significance / comparisons,
  };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, one) => sum + one, 0) / values.length;
}

/** The figures of several rounds as one. */
export interface Settled {
  readonly figures: Figures;
  readonly score: Score;
  /** The objective's figure of each round, where greater is better. */
  readonly values: readonly number[];
  /** Each round's figure that is nearest to its limit or farthest beyond it, as a share of the limit; undefined: there is none. */
  readonly ofLimit: readonly number[] | undefined;
}

/** Merges rounds: the median of each figure. */
export function mergeRounds(rounds: readonly [Figures, ...Figures[]]): Figures {
  const [first] = rounds;
  const memory = rounds.flatMap(({ memoryBytes }) => (memoryBytes === undefined ? [] : [memoryBytes]));
  return {
    levels: first.levels.map(({ concurrency }, i) => {
      const of = (value: (level: Figures['levels'][number]) => number): number =>
        median(rounds.flatMap(({ levels }) => (levels[i] === undefined ? [] : [value(levels[i])])));
      const latency = (figure: LatencyFigure): number => of(({ latencyMs }) => latencyMs[figure]);
      const [mean, p50, p90, p95, p99] = latencyFigures.map(latency);
      return {
        concurrency,
        throughput: of(({ throughput }) => throughput),
        latencyMs: { mean: mean ?? 0, p50: p50 ?? 0, p90: p90 ?? 0, p95: p95 ?? 0, p99: p99 ?? 0 },
        refused: of(({ refused }) => refused),
      };
    }),
    memoryBytes: memory.length === 0 ? undefined : median(memory),
  };
}

/** Judges rounds of one candidate. Limits are about the medians, because one slow moment must not decide. */
export function settle(
  objective: Objective,
  rounds: readonly [Figures, ...Figures[]],
  present: Figures | undefined,
): Settled {
  const figures = mergeRounds(rounds);
  const score = scoreOf(objective, figures, present);
  const unlimited: Objective = { ...objective, limit: undefined, mostMemoryBytes: undefined };
  const values = rounds.map((round) =>
    score.level === undefined
      ? scoreOf(unlimited, round, undefined).value
      : (round.levels[score.level]?.throughput ?? 0),
  );
  return { figures, score, values, ofLimit: sharesOfLimits(objective, rounds, figures, score) };
}

/** The share of each round, at the level that the score is of, or else at the one that is nearest to the limit. */
function sharesOfLimits(
  { limit, mostMemoryBytes }: Objective,
  rounds: readonly Figures[],
  { levels }: Figures,
  { level }: Score,
): readonly number[] | undefined {
  if (limit === undefined && mostMemoryBytes === undefined) return undefined;
  const latencyOf = (one: Figures['levels'][number] | undefined): number =>
    limit === undefined || one === undefined ? 0 : one.latencyMs[limit.latency] / limit.ms;
  const nearest = levels.reduce((best, one, i) => (latencyOf(one) < latencyOf(levels[best]) ? i : best), 0);
  return rounds.map((round) => {
    const latency = latencyOf(round.levels[level ?? nearest]);
    const { memoryBytes = 0 } = round;
    return Math.max(latency, mostMemoryBytes === undefined ? 0 : memoryBytes / mostMemoryBytes);
  });
}

/** A comparison of what is limited. All are shares of the limit. */
export interface LimitTest {
  /** How far the present configuration is beyond the limit. */
  readonly present: Ratio;
  /** How far the best candidate is beyond the limit. */
  readonly best: Ratio;
  /** How much more the best candidate has than the present one. */
  readonly change: Ratio;
}

/**
 * Compares what is limited; undefined if nothing is.
 *
 * @param comparisons - As for {@link ratioOf}.
 */
export function limitTestOf(present: Settled, best: Settled, comparisons: number): LimitTest | undefined {
  const [before, after] = [present.ofLimit, best.ofLimit];
  if (before === undefined || after === undefined) return undefined;
  const ones = before.map(() => 1);
  return {
    present: ratioOf(ones, before),
    best: ratioOf(ones, after, comparisons),
    change: ratioOf(before, after, comparisons),
  };
}

/** Whether a candidate meets limits that the present configuration does not, by more than chance. */
export function meetsAlone({ present, best, change }: LimitTest): boolean {
  const lowers = change.significant && change.change < 0;
  const isBeyond = present.significant && present.change > 0;
  const isBelow = best.significant && best.change < 0;
  return lowers && (isBeyond || isBelow);
}

/** Whether the rounds leave open that the second one is better by enough. */
export function isOpen({ interval }: Ratio): boolean {
  return interval === undefined || interval[1] >= leastGain;
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const high = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? high : ((sorted[middle - 1] ?? high) + high) / 2;
}
