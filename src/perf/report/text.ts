/** A run as text: each level in detail, and a table of all. */

import type { DurationHistogram } from '../measure/histogram.js';
import { levelText, throughputOf, type Level, type LevelLoad } from '../measure/level.js';
import type { ServerSide } from '../measure/server-side.js';
import type { PerfRun } from '../run.js';
import { partsOf, percentilesOf } from './columns.js';
import type { Comparison } from './compare.js';
import { printableLine } from '../../printable.js';
import { grouped, significant } from '../plot/numbers.js';

const ms = (value: number): string => `${significant(value)} ms`;
/** Microseconds, in the unit that is easier to read. */
const span = (us: number): string => (us < 999.5 ? `${significant(us)} µs` : ms(us / 1000));

function spread(histogram: DurationHistogram, percentile: number | undefined): string {
  const parts = percentilesOf(percentile).map((one) => `p${one} ${ms(histogram.percentileMs(one))}`);
  return [`mean ${ms(histogram.meanMs)}`, ...parts, `longest ${ms(histogram.greatestMs)}`].join(', ');
}

/** Batches by size, the most frequent ones first, in ascending order. */
function batchesText({ batches }: ServerSide): string {
  const sorted = [...batches].sort(([, a], [, b]) => b - a);
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  const shown = sorted.slice(0, mostBatches).sort(([a], [b]) => a - b);
  const share = (count: number): string => `${significant((100 * count) / total)} %`;
  const rest = sorted.slice(mostBatches).reduce((sum, [, count]) => sum + count, 0);
  const texts = shown.map(([rows, count]) => `${rows}: ${share(count)}`);
  return [...texts, ...(rest > 0 ? [`others: ${share(rest)}`] : [])].join(', ');
}

const mostBatches = 8;

/** A level in detail. */
export function levelLines(
  level: Level,
  run: Pick<PerfRun, 'percentile' | 'streaming' | 'sequences'>,
): string {
  const { tally, server, use, composing } = level;
  const { percentile } = run;
  const parts = partsOf(level);
  const seconds = tally.elapsedMs / 1000;
  const lines = [
    `${levelText(level)}${level.stable ? '' : level.cut ? ' (not complete)' : ' (NOT STABLE)'}`,
    `  requests       ${grouped(tally.requests)} in ${significant(seconds)} s`,
    `  throughput     ${significant(throughputOf(level))} infer/s`,
  ];
  const add = (name: string, text: string): void => {
    lines.push(`  ${name.padEnd(14)} ${text}`);
  };
  if (run.streaming) add('responses', `${significant(tally.responses / seconds)} a second`);
  if (run.sequences) add('sequences', `${significant(tally.sequences / seconds)} a second`);
  add('latency', `${spread(tally.latency, percentile)}, deviation ${ms(tally.latency.deviationMs)}`);
  if (tally.first.count > 0) add('first response', spread(tally.first, percentile));
  if (tally.gaps.count > 0) add('between', spread(tally.gaps, percentile));
  if (tally.lateness.count > 0)
    add(
      'sent late',
      `${spread(tally.lateness, percentile)}${tally.lateness.percentileMs(99) > lateMs ? ': the rate was not kept' : ''}`,
    );
  for (const [text, count] of tally.refused) add('refused', `${grouped(count)}: ${printableLine(text)}`);
  // Only the load over HTTP sees the first and the last byte of an answer.
  const received = parts.receiveUs > 0 ? `, receive ${span(parts.receiveUs)}` : '';
  add('client', `send ${span(parts.sendUs)}, wait ${span(parts.waitUs)}${received}`);
  if (parts.server !== undefined && server !== undefined) {
    const { queueUs, inputUs, inferUs, outputUs, overheadUs, requestUs } = parts.server;
    add(
      'server',
      `${span(requestUs)}: queue ${span(queueUs)}, input ${span(inputUs)}, infer ${span(inferUs)}, output ${span(outputUs)}, other ${span(overheadUs)}`,
    );
    const { cache_hit: hits, cache_miss: misses } = server.counts;
    if (hits + misses > 0) add('cache', `${grouped(hits)} hits, ${grouped(misses)} misses`);
    if (server.executions > 0)
      add(
        'batches',
        `${grouped(server.executions)}, mean ${significant(server.inferences / server.executions)} rows; ${batchesText(server)}`,
      );
    for (const [name, side] of composing)
      add(
        name,
        `queue ${span(side.meanUs('queue'))}, infer ${span(side.meanUs('compute_infer'))}, ${grouped(side.executions)} batches`,
      );
  }
  add(
    'this process',
    `${significant(use.cores)} cores, ${grouped(use.residentBytes / 2 ** 20)} MiB; its event loop is late by ${ms(use.loopDelay.percentileMs(50))} (p50), ${ms(use.loopDelay.percentileMs(99))} (p99)`,
  );
  return lines.join('\n');
}

/** A rate was not kept if requests are later than this. */
const lateMs = 10;

/** Cells in columns, of which all but the first few are to the right. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) =>
    rows.reduce((most, row) => Math.max(most, row[i]?.length ?? 0), title.length),
  );
  const line = (cells: readonly string[]): string =>
    cells.map((cell, i) => cell.padStart(widths[i] ?? 0)).join('  ');
  return [line(head), ...rows.map(line)].join('\n');
}

/** All levels of a run, one a line. */
export function runTable({ levels, percentile }: Pick<PerfRun, 'levels' | 'percentile'>): string {
  const percents = percentilesOf(percentile);
  const isRate = levels[0]?.mode === 'request rate';
  const head = [
    isRate ? 'requests/s' : 'concurrency',
    'infer/s',
    'mean ms',
    ...percents.map((one) => `p${one} ms`),
    'queue µs',
    'input µs',
    'infer µs',
    'output µs',
    'batch',
    'stable',
  ];
  const rows = levels.map((level) => {
    const { tally, server } = level;
    const parts = partsOf(level).server;
    const told = (value: number | undefined): string => (value === undefined ? '-' : significant(value));
    const mean =
      server !== undefined && server.executions > 0 ? server.inferences / server.executions : undefined;
    return [
      isRate ? significant(level.value) : String(level.value),
      significant(throughputOf(level)),
      significant(tally.latency.meanMs),
      ...percents.map((one) => significant(tally.latency.percentileMs(one))),
      told(parts?.queueUs),
      told(parts?.inputUs),
      told(parts?.inferUs),
      told(parts?.outputUs),
      mean === undefined ? '-' : significant(mean),
      level.stable ? 'yes' : 'no',
    ];
  });
  return table(head, rows);
}

/** A window in a line. */
export function windowText(
  load: LevelLoad,
  window: number,
  { throughput, latencyMs }: { readonly throughput: number; readonly latencyMs: number },
  percentile: number | undefined,
): string {
  const about = `${levelText(load)}, window ${window}`;
  if (throughput === 0) return `${about}: no request ended`;
  const which = percentile === undefined ? 'mean' : `p${percentile}`;
  return `${about}: ${significant(throughput)} infer/s, ${which} ${ms(latencyMs)}`;
}

/** The comparison with another run. */
export function comparisonText(comparisons: readonly Comparison[]): string {
  const percent = (share: number): string => `${share > 0 ? '+' : ''}${(100 * share).toFixed(1)} %`;
  const rows = comparisons.map(
    ({ mode, value, figure, unit, before, after, change, within, significant: is, better }) => [
      mode === 'concurrency' ? String(value) : significant(value),
      figure,
      `${significant(before)} ${unit}`,
      `${significant(after)} ${unit}`,
      percent(change),
      within === undefined ? '-' : `± ${(100 * within).toFixed(1)} %`,
      within === undefined ? 'too few slices' : is ? (better ? 'better' : 'worse') : 'not significant',
    ],
  );
  const head = [
    comparisons[0]?.mode === 'request rate' ? 'requests/s' : 'concurrency',
    'figure',
    'before',
    'now',
    'change',
    '99 %',
    '',
  ];
  return table(head, rows);
}
