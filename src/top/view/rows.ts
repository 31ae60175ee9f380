/** Which models are shown, and in which order. */

import type { ModelFigures } from '../figures/model-figures.js';
import { columns, type Column } from './columns.js';

/** What the user has chosen. */
export interface RowChoice {
  /** The id of the column that rows are sorted by. */
  readonly sort: string;
  readonly reverse: boolean;
  /** Text in the name or the state, in any case; empty: all. */
  readonly filter: string;
}

/** The column of an id. */
export function columnOf(id: string): Column {
  const column = columns.find((one) => one.id === id);
  if (column === undefined) throw new RangeError(`there is no column '${id}'`);
  return column;
}

function compare(a: ReturnType<Column['value']>, b: ReturnType<Column['value']>): number {
  if (typeof a === 'number' && typeof b === 'number') return a === b ? 0 : b - a;
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1;
  const [left, right] = [String(a), String(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Rows that pass the filter. Numbers descend and texts ascend, unless reversed; equal rows stand by name. */
export function rowsOf(
  models: readonly ModelFigures[],
  { sort, reverse, filter }: RowChoice,
): ModelFigures[] {
  const { value } = columnOf(sort);
  const wanted = filter.toLowerCase();
  const isShown = ({ model, state = '' }: ModelFigures): boolean =>
    model.toLowerCase().includes(wanted) || state.toLowerCase().includes(wanted);
  const byName = (a: ModelFigures, b: ModelFigures): number =>
    compare(a.model, b.model) || Number(a.version ?? 0) - Number(b.version ?? 0);
  return models.filter(isShown).sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    const order = compare(left, right);
    // Unknown figures stay last.
    const turned = reverse && left !== undefined && right !== undefined ? -order : order;
    return turned || byName(a, b);
  });
}
