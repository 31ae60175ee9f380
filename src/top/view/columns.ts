/** The columns of the table of models. */

import { grouped, significant } from '../../perf/plot/numbers.js';
import type { ModelFigures } from '../figures/model-figures.js';
import { safe } from './cells.js';

/** What a cell may say by its colour. */
export type Tone = 'plain' | 'good' | 'bad' | 'pale';

/** A column. */
export interface Column {
  /** The name in flags and JSON. */
  readonly id: string;
  readonly title: string;
  readonly side: 'left' | 'right';
  /** Cells that it has at least, so that columns stay where they are when figures change. */
  readonly least: number;
  /** Columns with a higher number are left out first if the terminal is narrow. */
  readonly rank: number;
  readonly text: (figures: ModelFigures) => string;
  /** What it is sorted by. Unknown figures come last. */
  readonly value: (figures: ModelFigures) => string | number | undefined;
  readonly tone?: (figures: ModelFigures) => Tone;
  /** What it means, for the help. */
  readonly meaning: string;
}

const unknown = '-';

function told(value: number | undefined): string {
  if (value === undefined) return unknown;
  if (value === Infinity) return '> max';
  return value === 0 ? '0' : significant(value);
}

/** Bytes with a unit. */
export function bytesText(bytes: number | undefined): string {
  if (bytes === undefined) return unknown;
  if (bytes < 1024) return `${bytes} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length, Math.floor(Math.log2(bytes) / 10));
  return `${significant(bytes / 1024 ** power)} ${units[power - 1] ?? ''}`;
}

/** A share as percent. */
export function percentText(share: number | undefined): string {
  return share === undefined ? unknown : `${(100 * share).toFixed(0)} %`;
}

function latency(id: 'meanMs' | 'p50Ms' | 'p95Ms' | 'p99Ms', title: string, rank: number): Column {
  return {
    id: title,
    title: `${title} ms`,
    side: 'right',
    least: 7,
    rank,
    text: (figures) => {
      const text = told(figures.latency[id]);
      // A summary's window is not the interval.
      return id !== 'meanMs' && figures.latency.source === 'summary' && text !== unknown ? `~${text}` : text;
    },
    value: ({ latency: times }) => times[id],
    meaning:
      id === 'meanMs'
        ? 'mean time from the call to the response'
        : `${title.slice(1)} % of requests took at most so long; ~: from the server's summary`,
  };
}

function number(
  id: string,
  title: string,
  least: number,
  rank: number,
  value: (figures: ModelFigures) => number | undefined,
  meaning: string,
  tone?: Column['tone'],
): Column {
  return {
    id,
    title,
    side: 'right',
    least,
    rank,
    text: (figures) => told(value(figures)),
    value,
    meaning,
    ...(tone && { tone }),
  };
}

/** A number of things, without decimals. */
function count(...given: Parameters<typeof number>): Column {
  const [, , , , value] = given;
  return {
    ...number(...given),
    text: (figures) => {
      const many = value(figures);
      return many === undefined ? unknown : grouped(many);
    },
  };
}

function stateTone({ state }: ModelFigures): Tone {
  if (state === 'READY') return 'good';
  return state === 'UNAVAILABLE' ? 'bad' : 'plain';
}

function batchSizesText({ batches }: ModelFigures): string {
  const total = [...batches.values()].reduce((sum, count) => sum + count, 0);
  if (!(total > 0)) return '';
  return [...batches]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 4)
    .map(([rows, count]) => `${rows}: ${percentText(count / total)}`)
    .join(', ');
}

/** Failed and refused requests. */
function lost({ failuresPerS, refusedPerS }: ModelFigures): number | undefined {
  return failuresPerS === undefined ? undefined : failuresPerS + (refusedPerS ?? 0);
}

/** All columns, in their order. */
export const columns: readonly Column[] = [
  {
    id: 'model',
    title: 'model',
    side: 'left',
    least: 12,
    rank: 0,
    text: ({ model }) => safe(model),
    value: ({ model }) => model,
    meaning: 'the name',
  },
  {
    id: 'version',
    title: 'ver',
    side: 'right',
    least: 3,
    rank: 8,
    text: ({ version }) => safe(version ?? unknown),
    value: ({ version }) => (version === undefined ? undefined : Number(version)),
    meaning: 'the version',
  },
  {
    id: 'state',
    title: 'state',
    side: 'left',
    least: 7,
    rank: 2,
    text: ({ state }) => safe(state ?? '?'),
    value: ({ state }) => state,
    tone: stateTone,
    meaning: 'the state in the index; ?: the server does not show it',
  },
  number(
    'requests',
    'req/s',
    8,
    1,
    ({ requestsPerS }) => requestsPerS,
    'successful requests a second',
    ({ requestsPerS }) => (requestsPerS === 0 ? 'pale' : 'plain'),
  ),
  number(
    'failures',
    'fail/s',
    6,
    3,
    lost,
    'requests a second that failed, or were refused before the queue',
    (figures) => ((lost(figures) ?? 0) > 0 ? 'bad' : 'pale'),
  ),
  latency('meanMs', 'mean', 7),
  latency('p50Ms', 'p50', 5),
  latency('p95Ms', 'p95', 9),
  latency('p99Ms', 'p99', 4),
  number('queue', 'queue ms', 8, 10, ({ queueMs }) => queueMs, 'mean time in the queue'),
  count('waiting', 'waiting', 7, 6, ({ pending }) => pending, 'requests that wait for a batch now'),
  number('batch', 'batch', 5, 11, ({ batchRows }) => batchRows, 'mean rows of a batch'),
  count('instances', 'inst', 4, 12, ({ instances }) => instances, 'instances of the configuration'),
  {
    id: 'cache',
    title: 'cache',
    side: 'right',
    least: 5,
    rank: 14,
    text: ({ cacheHits }) => percentText(cacheHits),
    value: ({ cacheHits }) => cacheHits,
    meaning: 'share of requests that the response cache answered',
  },
  {
    id: 'memory',
    title: 'memory',
    side: 'right',
    least: 8,
    rank: 13,
    text: ({ memoryBytes }) => bytesText(memoryBytes),
    value: ({ memoryBytes }) => memoryBytes,
    meaning: 'memory that the runtime holds for the version',
  },
  {
    id: 'sizes',
    title: 'batches',
    side: 'left',
    least: 10,
    rank: 15,
    text: batchSizesText,
    value: ({ batches }) => [...batches.keys()].reduce((most, rows) => Math.max(most, rows), 0),
    meaning: 'the most frequent sizes of batches, with their shares',
  },
];

/** The names of columns, for `--sort`. */
export const columnIds: readonly string[] = columns.map(({ id }) => id);
