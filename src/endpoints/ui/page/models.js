// The table of models.

import { find, make, setText, shown } from './dom.js';
import { keyOf } from './figures.js';
import { pointsOf } from './points.js';

/** Rows of the table by version. They stay while their version does, so that a click or the focus is not lost. */
const modelRows = new Map();

/** @param onClick - Gets the entry of the index that the row shows. */
function modelRow(key, onClick) {
  const button = make('button', { type: 'button' });
  button.dataset.key = key;
  const cells = Array.from({ length: 9 }, () => make('td'));
  for (const [i, cell] of cells.entries()) if (i !== 1) cell.className = 'number';
  const row = { element: make('tr', {}, make('td', {}, button), ...cells), button, cells, entry: undefined };
  button.addEventListener('click', () => {
    onClick(row.entry);
  });
  return row;
}

const isChosenKey = (chosen, key) => chosen !== undefined && keyOf(chosen.model, chosen.version) === key;

function mark(row, isChosen) {
  row.element.className = isChosen ? 'chosen' : '';
  row.button.setAttribute('aria-pressed', String(isChosen));
}

/** Marks the row of the chosen version. */
export function markChosen(chosen) {
  for (const row of modelRows.values()) mark(row, isChosenKey(chosen, row.button.dataset.key));
}

/**
 * Shows the models of the index.
 *
 * @param chosen - The chosen version; undefined: none.
 * @param onClick - Gets the entry of a model whose name is clicked.
 */
export function showModels(index, metrics, instances, chosen, onClick) {
  const body = find('models').tBodies[0];
  // With namespaces, several models may have a name: they are told apart by their places.
  const found = new Map();
  for (const entry of index) {
    const key = keyOf(entry.name, entry.version);
    let place = 0;
    while (found.has(`${place}/${key}`)) place++;
    found.set(`${place}/${key}`, entry);
  }
  for (const [id, { element }] of modelRows) {
    if (found.has(id)) continue;
    element.remove();
    modelRows.delete(id);
  }
  let at = body.firstElementChild;
  for (const [id, entry] of found) {
    const { name, version, state, reason } = entry;
    const key = keyOf(name, version);
    const row = modelRows.get(id) ?? modelRow(key, onClick);
    modelRows.set(id, row);
    row.entry = entry;
    if (row.element === at) at = at.nextElementSibling;
    else body.insertBefore(row.element, at);
    const figures = pointsOf(key).at(-1) ?? {};
    mark(row, isChosenKey(chosen, key));
    setText(row.button, name);
    const [, stateCell] = row.cells;
    stateCell.className = state === 'READY' ? 'good' : state === 'UNAVAILABLE' ? 'bad' : '';
    stateCell.title = reason ?? '';
    const texts = [
      version ?? '–',
      state ?? 'not loaded',
      ...[figures.requests, figures.failures, figures.p50, figures.p99].map((value) => shown(value)),
      ...[metrics.get(key)?.pending, figures.batch, instances.get(key)].map((value) => shown(value)),
    ];
    texts.forEach((text, i) => {
      setText(row.cells[i], text);
    });
  }
}
