/** Levels as a CSV file of perf_analyzer's form: rows ascending by throughput. */

import { throughputOf, type Level } from '../measure/level.js';
import { cellsOf, type ColumnChoice } from './columns.js';

/** The file's text. */
export function csvOf(levels: readonly Level[], choice: ColumnChoice): string {
  const sorted = levels.toSorted((a, b) => throughputOf(a) - throughputOf(b));
  const rows = sorted.map((level) => cellsOf(level, choice));
  const head = rows[0]?.map(([column]) => column) ?? [];
  return [head, ...rows.map((cells) => cells.map(([, value]) => String(value)))]
    .map((row) => `${row.join(',')}\n`)
    .join('');
}
