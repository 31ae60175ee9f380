/** The demo's tables. */
import type { Histogram } from '../../bench/reports/histogram.js';
import { grouped, significant } from '../../src/perf/plot/numbers.js';
import { table } from '../../bench/reports/table.js';
import type { Comparison } from './compare.js';

/** Width of the longest bar of a histogram. */
const longestBar = 40;

/** One line for each classifier. */
export function comparisonTable(rows: readonly Comparison[]): string {
  return table(
    ['', 'requests/s', 'p50 ms', 'p99 ms', 'longest stall of the event loop'],
    rows.map(({ name, requestsPerSecond, p50, p99, longestStall }) => [
      name,
      grouped(requestsPerSecond),
      significant(p50),
      significant(p99),
      `${significant(longestStall)} ms`,
    ]),
  );
}

/** One line for each classifier, with how late the event loop was. */
export function delayTable(rows: readonly Comparison[]): string {
  return table(
    ['', 'requests/s', 'p50 ms', 'p99 ms', 'event loop late: p50', 'p99', 'max'],
    rows.map(({ name, requestsPerSecond, p50, p99, lateP50, lateP99, longestStall }) => [
      name,
      grouped(requestsPerSecond),
      significant(p50),
      significant(p99),
      ...[lateP50, lateP99, longestStall].map((late) => `${significant(late)} ms`),
    ]),
  );
}

/** What the model itself takes: nobody's requests/s can be more than that allows. */
export function modelTimeLine(alone: number, batch: number, batchSize: number): string {
  return (
    `The model itself takes ${significant(alone)} ms for one image, and ${significant(batch)} ms for a batch of ${batchSize}: ` +
    `at most ${grouped(1000 / Math.min(alone, batch / batchSize))} images/s.`
  );
}

/** One line a batch size, with a bar as long as its batches are many. */
export function histogramLines(histogram: Histogram): string {
  const most = Math.max(...histogram.values());
  return [...histogram]
    .sort(([a], [b]) => a - b)
    .map(([size, count]) => {
      const bar = '#'.repeat(Math.max(1, Math.round((longestBar * count) / most)));
      return `  ${String(size).padStart(3)} images  ${bar} ${grouped(count)}`;
    })
    .join('\n');
}

/** What the longest stalls mean, for readers who have never seen one. */
export function freeLoopSentence(rows: readonly Comparison[]): string {
  const [ours, direct] = rows;
  const free = `While the model ran, nothing else in this process waited longer than ${significant(ours?.longestStall ?? NaN)} ms`;
  if (!direct) return `${free}: the event loop stayed free.`;
  return (
    `${free}.\nCalled directly, the runtime kept the event loop for ${significant(direct.longestStall)} ms at a time:\n` +
    'a web server would have answered nobody meanwhile, and no timer would have fired.'
  );
}
