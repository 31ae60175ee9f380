/** What the best configuration is: an objective, with limits, and the score that figures have under it. All functions are pure. */

import { significant } from '../../perf/plot/numbers.js';

/** Latencies that a limit or the objective can be about. */
export const latencyFigures = ['mean', 'p50', 'p90', 'p95', 'p99'] as const;

/** A latency of a level. */
export type LatencyFigure = (typeof latencyFigures)[number];

/** The figures of a candidate with a number of requests at once. */
export interface LevelFigures {
  readonly concurrency: number;
  /** Inferences a second. */
  readonly throughput: number;
  /** Milliseconds. */
  readonly latencyMs: Readonly<Record<LatencyFigure, number>>;
  /** The share of requests that the server refused because it was busy. */
  readonly refused: number;
}

/** All figures of a candidate, from one measurement. */
export interface Figures {
  /** In the order of the levels. At least one. */
  readonly levels: readonly LevelFigures[];
  /** What the process grew by; undefined: it was not measured. */
  readonly memoryBytes: number | undefined;
}

/** See the head of this file. */
export interface Objective {
  readonly goal: 'throughput' | 'latency' | 'memory';
  /** The latency that the goal `latency` makes small. */
  readonly latency: LatencyFigure;
  /** Only levels below it count; undefined: all count. */
  readonly limit: { readonly latency: LatencyFigure; readonly ms: number } | undefined;
  /** Candidates that take more are not considered; undefined: there is no limit. */
  readonly mostMemoryBytes: number | undefined;
}

/** The score of figures. */
export interface Score {
  /** Whether all limits are met. Figures that meet them are better than figures that do not. */
  readonly meets: boolean;
  /** Greater is better: the objective's figure, or its inverse; without `meets`, how near to the limits it is, up to 1. */
  readonly value: number;
  /** The place of the level that the figure is of; undefined: it is of all levels. */
  readonly level: number | undefined;
}

/** With the goal `memory`, the share of the present throughput that must stay. */
export const keptThroughput = 0.95;
/** Candidates that take less are alike: a process grows by so much for other reasons. */
const leastMemoryBytes = 2 ** 20;
/** A candidate may refuse this share of the requests more than the present configuration. */
const mostRefused = 0.01;

/** The means of two measurements of a candidate, by their lengths. */
export function weighMeans(
  first: Figures | undefined,
  firstMs: number,
  second: Figures,
  secondMs: number,
): Figures {
  if (first === undefined) return second;
  const share = secondMs / (firstMs + secondMs);
  const mean = (a: number, b: number): number => a + share * (b - a);
  return {
    levels: second.levels.map((level, i) => {
      const before = first.levels[i];
      if (before === undefined) return level;
      const of = (figure: LatencyFigure): number => mean(before.latencyMs[figure], level.latencyMs[figure]);
      return {
        concurrency: level.concurrency,
        throughput: mean(before.throughput, level.throughput),
        latencyMs: { mean: of('mean'), p50: of('p50'), p90: of('p90'), p95: of('p95'), p99: of('p99') },
        refused: mean(before.refused, level.refused),
      };
    }),
    memoryBytes: second.memoryBytes,
  };
}

function throughputOf({ levels }: Figures): number {
  return Math.max(...levels.map(({ throughput }) => throughput));
}

function refusedOf({ levels }: Figures): number {
  return Math.max(...levels.map(({ refused }) => refused));
}

/**
 * Scores figures.
 *
 * @param present - The figures of the present configuration; undefined: these are they.
 */
export function scoreOf(objective: Objective, figures: Figures, present: Figures | undefined): Score {
  const { goal, limit, latency, mostMemoryBytes } = objective;
  const { levels, memoryBytes } = figures;
  const shortfalls: number[] = [];
  if (mostMemoryBytes !== undefined && memoryBytes !== undefined && memoryBytes > mostMemoryBytes)
    shortfalls.push(mostMemoryBytes / memoryBytes);
  if (present !== undefined && refusedOf(figures) > refusedOf(present) + mostRefused)
    shortfalls.push(1 - Math.min(1, refusedOf(figures)));
  if (goal === 'memory' && present !== undefined) {
    const share = throughputOf(figures) / (keptThroughput * throughputOf(present));
    if (share < 1) shortfalls.push(share);
  }
  const fitting = levels.flatMap((level, i) =>
    limit === undefined || level.latencyMs[limit.latency] < limit.ms ? [i] : [],
  );
  if (limit !== undefined && fitting.length === 0)
    shortfalls.push(Math.max(...levels.map((level) => limit.ms / level.latencyMs[limit.latency])));
  if (shortfalls.length > 0) {
    const value = shortfalls.reduce((product, one) => product * Math.max(0, Math.min(1, one)), 1);
    return { meets: false, value, level: undefined };
  }
  switch (goal) {
    case 'throughput': {
      const level = fitting.reduce((best, i) =>
        (levels[i]?.throughput ?? 0) > (levels[best]?.throughput ?? 0) ? i : best,
      );
      return { meets: true, value: levels[level]?.throughput ?? 0, level };
    }
    case 'latency': {
      // The geometric mean weighs all levels alike, however far their latencies are apart.
      const logs = levels.map((level) => Math.log(level.latencyMs[latency]));
      const mean = Math.exp(logs.reduce((sum, one) => sum + one, 0) / logs.length);
      return { meets: true, value: 1 / mean, level: undefined };
    }
    case 'memory':
      return { meets: true, value: 1 / Math.max(leastMemoryBytes, memoryBytes ?? 0), level: undefined };
  }
}

/** Sorts the better score first. */
export function compareScores(a: Score, b: Score): number {
  if (a.meets !== b.meets) return a.meets ? -1 : 1;
  return b.value - a.value;
}

const units: Readonly<Record<string, number>> = { us: 1e-3, µs: 1e-3, ms: 1, s: 1000 };

/**
 * Reads `throughput`, `latency`, `memory`, or a latency with a limit, such as `p99<20ms`, which means: the most throughput
 * below it.
 *
 * @returns Undefined for another text.
 */
export function readObjective(text: string): Pick<Objective, 'goal' | 'limit'> | undefined {
  if (text === 'throughput' || text === 'latency' || text === 'memory')
    return { goal: text, limit: undefined };
  const [, name, number, unit = ''] = /^(\w+)\s*<=?\s*(\d+(?:\.\d+)?)\s*(us|µs|ms|s)$/.exec(text) ?? [];
  const latency = latencyFigures.find((one) => one === name);
  const ms = Number(number) * (units[unit] ?? 0);
  return latency !== undefined && ms > 0 ? { goal: 'throughput', limit: { latency, ms } } : undefined;
}

/** The objective in words. */
export function objectiveText({ goal, latency, limit, mostMemoryBytes }: Objective): string {
  const words = {
    throughput: 'the most inferences a second',
    latency: `the least latency (${latency})`,
    memory: `the least memory with ${keptThroughput * 100} % of the present throughput`,
  }[goal];
  const below = limit === undefined ? '' : ` with ${limit.latency} below ${significant(limit.ms)} ms`;
  const within =
    mostMemoryBytes === undefined ? '' : ` in at most ${significant(mostMemoryBytes / 2 ** 20)} MiB`;
  return words + below + within;
}
