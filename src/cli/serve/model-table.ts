/** The table of models that is logged at start, in Triton's format. */

import type { ModelStatus } from '../../api/metadata.js';
import { printableLine } from '../../printable.js';

const heads = ['Model', 'Version', 'Status'] as const;
type Row = readonly [string, string, string];

function rowsOf({ name, version, state, reason }: ModelStatus): Row[] {
  const status = reason === undefined || reason === '' ? (state ?? '') : `${state ?? ''}: ${reason}`;
  // A folder's name may contain a line break, which would look like another row or line of the log.
  const shown = printableLine(name);
  return status.split('\n').map((line, i): Row => (i === 0 ? [shown, version ?? '-', line] : ['', '', line]));
}

/** Whether the server tried to load the model. In mode 'explicit' most models may not be loaded. */
function isAsked({ state, reason }: ModelStatus): boolean {
  return state !== undefined && reason !== 'unloaded';
}

/** See the head of this file. */
export function modelTable(index: readonly ModelStatus[]): string {
  const rows = index.filter(isAsked).flatMap(rowsOf);
  const widths = heads.map((head, i) => Math.max(head.length, ...rows.map((row) => (row[i] ?? '').length)));
  const rule = `+${widths.map((width) => '-'.repeat(width + 2)).join('+')}+`;
  const line = (cells: readonly string[]): string =>
    `|${cells.map((cell, i) => ` ${cell.padEnd(widths[i] ?? 0)} `).join('|')}|`;
  return [rule, line(heads), rule, ...rows.map(line), ...(rows.length > 0 ? [rule] : [])].join('\n');
}
