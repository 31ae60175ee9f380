/** A view as plain text, one block an interval, for files and pipes. */

import type { TopFigures } from '../figures/top-figures.js';
import { cut, safe } from './cells.js';
import { machineLines, serverLine } from './head.js';
import { rowsOf, type RowChoice } from './rows.js';
import { tableOf } from './table.js';

/** A reason may be a whole traceback. */
const longestNote = 240;

/** What is to be said about models and percentiles, below the table. */
export function notesOf({ withoutMetrics, models }: TopFigures, rows: TopFigures['models']): string[] {
  const reasons = rows.flatMap(({ model, version, state, reason }) =>
    reason === undefined || state === 'READY'
      ? []
      : [`${model}${version === undefined ? '' : ` ${version}`}: ${reason}`],
  );
  return [
    ...reasons,
    ...(withoutMetrics === undefined ? [] : [`no metrics, so no percentiles: ${withoutMetrics}`]),
    ...(models.some(({ restarted }) => restarted)
      ? ['counters were restarted: rates of this interval count from there']
      : []),
  ].map((note) => cut(safe(note), longestNote));
}

/** See the head of this file. */
export function plainText(figures: TopFigures, place: string, choice: RowChoice, time: Date): string {
  const rows = rowsOf(figures.models, choice);
  const table = tableOf(rows, undefined);
  return [
    `${time.toISOString()}  ${serverLine(figures, place)}`,
    ...machineLines(figures),
    table.head.map(({ text }) => text).join(''),
    ...table.rows.map((row) =>
      row
        .map(({ text }) => text)
        .join('')
        .trimEnd(),
    ),
    ...notesOf(figures, rows),
  ].join('\n');
}
