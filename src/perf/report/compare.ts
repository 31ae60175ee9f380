/**
 * Compares two runs, level by level. The slices of the windows are the samples: their means are compared by Welch's test.
 * Slices of one run say nothing of how much runs differ, so a difference may also come from a busier machine.
 */

import type { Level } from '../measure/level.js';
import type { SliceFigures } from '../measure/recording.js';
import type { PerfRun } from '../run.js';
import type { ReadRun } from './json.js';
import { tQuantile, welch } from './student.js';

/** A difference is significant if equal means would give it with less than this probability. */
const significance = 0.01;

/** The comparison of a figure of a level. */
export interface Comparison {
  readonly mode: string;
  readonly value: number;
  readonly figure: string;
  readonly unit: string;
  readonly before: number;
  readonly after: number;
  /** How much more the present run has, as a share of the other. */
  readonly change: number;
  /** The half of the change's interval of 99 %; undefined: too few slices. */
  readonly within: number | undefined;
  readonly significant: boolean;
  /** Whether a significant change is for the better. */
  readonly better: boolean;
}

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly more: 'better' | 'worse';
  readonly of: (slice: SliceFigures, batch: number) => number;
}

const figures: readonly Figure[] = [
  {
    name: 'throughput',
    unit: 'infer/s',
    more: 'better',
    of: ({ requestsPerSecond }, batch) => requestsPerSecond * batch,
  },
  { name: 'mean latency', unit: 'ms', more: 'worse', of: ({ meanMs }) => meanMs },
  { name: 'p99 latency', unit: 'ms', more: 'worse', of: ({ p99Ms }) => p99Ms },
];

/** Compares the levels that both runs have. */
export function compareRuns(run: PerfRun, other: ReadRun): readonly Comparison[] {
  return run.levels.flatMap((level) => {
    const before = other.levels.find((one) => isSame(one, level));
    if (before === undefined) return [];
    return figures.map((figure) => compareFigure(level, { ...before, batch: other.batch }, figure));
  });
}

/** Whether two levels are of the same load. Rates may be fractions, whose sums are inexact. */
function isSame(
  one: { readonly mode: string; readonly value: number },
  other: { readonly mode: string; readonly value: number },
): boolean {
  return one.mode === other.mode && Math.abs(one.value - other.value) <= 1e-9 * Math.abs(other.value);
}

function compareFigure(
  level: Level,
  other: {
    readonly inferencesPerSecond: number;
    readonly slices: readonly SliceFigures[];
    readonly batch: number;
  },
  { name, unit, more, of }: Figure,
): Comparison {
  // A slice without a request has no latency.
  const samples = (slices: readonly SliceFigures[], batch: number): number[] =>
    slices
      .filter(({ requestsPerSecond }) => name === 'throughput' || requestsPerSecond > 0)
      .map((slice) => of(slice, batch));
  const [first, second] = [samples(other.slices, other.batch), samples(level.slices, level.batch)];
  const test = welch(first, second);
  const mean = (values: readonly number[]): number =>
    values.length === 0 ? 0 : values.reduce((sum, one) => sum + one, 0) / values.length;
  const [before, after] = test?.means ?? [mean(first), mean(second)];
  const significant = test !== undefined && test.p < significance;
  return {
    mode: level.mode,
    value: level.value,
    figure: name,
    unit,
    before,
    after,
    change: before === 0 ? 0 : after / before - 1,
    within:
      test === undefined || before === 0
        ? undefined
        : (tQuantile(significance, test.freedom) * test.error) / before,
    significant,
    better: significant && after > before === (more === 'better'),
  };
}

/** Levels of the present run that the other lacks. */
export function missingLevels(run: PerfRun, other: ReadRun): readonly Level[] {
  return run.levels.filter((level) => !other.levels.some((one) => isSame(one, level)));
}

/** The throughput of a level of the other run, for the picture. */
export function latencyPoints(
  other: ReadRun,
): readonly { readonly throughput: number; readonly p99Ms: number; readonly value: number }[] {
  return other.levels.flatMap(({ value, inferencesPerSecond, slices }) => {
    const busy = slices.filter(({ requestsPerSecond }) => requestsPerSecond > 0);
    if (busy.length === 0) return [];
    const p99Ms = busy.reduce((sum, one) => sum + one.p99Ms, 0) / busy.length;
    return [{ throughput: inferencesPerSecond, p99Ms, value }];
  });
}
