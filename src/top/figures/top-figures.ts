/** All figures of a server between two readings. */

import type { ModelStatus } from '../../api/metadata.js';
import { versionKey, type Reading, type VersionStatistics } from '../reading.js';
import {
  metricFigures,
  type GpuFigures,
  type MachineFigures,
  type MetricFigures,
  type VersionMetrics,
} from './metric-figures.js';
import { modelFigures, type ModelFigures } from './model-figures.js';

/** A reading whose metrics were read, too. */
export interface Moment {
  readonly reading: Reading;
  readonly metrics: MetricFigures | undefined;
}

/** See the head of this file. */
export interface TopFigures {
  readonly server: Reading['server'];
  readonly ready: boolean;
  /** The time between both readings; undefined after a single one. */
  readonly seconds: number | undefined;
  readonly models: readonly ModelFigures[];
  readonly gpus: readonly GpuFigures[];
  readonly machine: MachineFigures;
  /** Why there are no metrics; undefined: there are some. */
  readonly withoutMetrics: string | undefined;
}

const noMetrics: VersionMetrics = {
  pending: undefined,
  refused: undefined,
  buckets: new Map(),
  summary: new Map(),
};

/** Reads the metrics of a reading. */
export function momentOf(reading: Reading): Moment {
  const { metrics } = reading;
  return { reading, metrics: metrics === undefined ? undefined : metricFigures(metrics) };
}

/**
 * Statistics by version. With namespaces several models may have a name: statistics do not tell them apart, and the
 * first one counts.
 */
function byVersion({ statistics }: Reading): Map<string, VersionStatistics> {
  const result = new Map<string, VersionStatistics>();
  for (const one of statistics) {
    const key = versionKey(one.name, one.version);
    if (!result.has(key)) result.set(key, one);
  }
  return result;
}

/** Entries of the index, and versions that have statistics without one. */
function entriesOf(reading: Reading, statistics: ReadonlyMap<string, VersionStatistics>): ModelStatus[] {
  const entries = new Map<string, ModelStatus>();
  for (const entry of reading.index ?? []) {
    const key = versionKey(entry.name, entry.version ?? '');
    if (!entries.has(key)) entries.set(key, entry);
  }
  for (const [key, { name, version }] of statistics)
    if (!entries.has(key)) entries.set(key, { name, version });
  return [...entries.values()];
}

/**
 * The figures.
 *
 * @param before - The earlier moment; undefined: there was none, and rates are unknown.
 */
export function figuresBetween(before: Moment | undefined, after: Moment): TopFigures {
  const { reading, metrics } = after;
  const seconds = before && (reading.atMs - before.reading.atMs) / 1000;
  const then = before && byVersion(before.reading);
  const now = byVersion(reading);
  return {
    server: reading.server,
    ready: reading.ready,
    seconds,
    models: entriesOf(reading, now).map((entry) => {
      const key = versionKey(entry.name, entry.version ?? '');
      return modelFigures(
        entry,
        before && {
          statistics: then?.get(key),
          // A version that was not there before counts from 0.
          metrics: before.metrics && (before.metrics.versions.get(key) ?? noMetrics),
        },
        { statistics: now.get(key), metrics: metrics?.versions.get(key) },
        seconds,
        reading.instances.get(key),
      );
    }),
    gpus: metrics?.gpus ?? [],
    machine: metrics?.machine ?? {},
    withoutMetrics: reading.withoutMetrics,
  };
}
