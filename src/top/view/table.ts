/** The table of models as lines, in the width that there is. */

import type { ModelFigures } from '../figures/model-figures.js';
import { cellsOf, fitted } from './cells.js';
import { columns, type Column, type Tone } from './columns.js';

/** A part of a line with one tone. */
export interface Span {
  readonly text: string;
  readonly tone: Tone;
}

/** See the head of this file. */
export interface Table {
  readonly head: readonly { readonly id: string; readonly text: string }[];
  readonly rows: readonly (readonly Span[])[];
}

const gap = 2;
/** A longer name is cut on a terminal. */
const longestName = 40;

interface Sized {
  readonly column: Column;
  readonly width: number;
}

function sized(rows: readonly ModelFigures[], limit: number): Sized[] {
  return columns.map((column) => {
    const widest = rows.reduce((most, row) => Math.max(most, cellsOf(column.text(row))), column.least);
    const width = Math.max(cellsOf(column.title), widest);
    return { column, width: column.id === 'model' ? Math.min(width, limit) : width };
  });
}

/** Leaves out columns until the rest fits; the name alone is always there. */
function fitting(all: readonly Sized[], width: number): Sized[] {
  let kept = [...all];
  const total = (): number =>
    kept.reduce((sum, one) => sum + one.width, 0) + gap * Math.max(0, kept.length - 1);
  while (kept.length > 1 && total() > width) {
    const least = kept.reduce((a, b) => (b.column.rank > a.column.rank ? b : a));
    kept = kept.filter((one) => one !== least);
  }
  const [only] = kept;
  return kept.length === 1 && only !== undefined ? [{ ...only, width: Math.min(only.width, width) }] : kept;
}

/**
 * The table.
 *
 * @param width - Cells of a line; undefined: all columns with whole names, for a file.
 */
export function tableOf(rows: readonly ModelFigures[], width: number | undefined): Table {
  const all = sized(rows, width === undefined ? Infinity : longestName);
  const shown = width === undefined ? all : fitting(all, width);
  const space = ' '.repeat(gap);
  const cell = ({ column, width: cells }: Sized, text: string, isLast: boolean): string => {
    const whole = fitted(text, cells, column.side);
    return isLast ? whole.trimEnd() : `${whole}${space}`;
  };
  const last = shown.length - 1;
  return {
    head: shown.map((one, i) => ({
      id: one.column.id,
      text: cell(one, one.column.title, i === last),
    })),
    rows: rows.map((row) =>
      shown.map((one, i) => ({
        text: cell(one, one.column.text(row), i === last),
        tone: one.column.tone?.(row) ?? 'plain',
      })),
    ),
  };
}
