/** The view: rows, cells, keys. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { figuresBetween, momentOf, type TopFigures } from '../../src/top/figures/top-figures.js';
import { cellsOf, cut, ending, fitted, safe } from '../../src/top/view/cells.js';
import { columnIds, columns } from '../../src/top/view/columns.js';
import { jsonLine } from '../../src/top/view/json.js';
import { LiveView, type Key } from '../../src/top/view/live-view.js';
import { painted, unpainted } from '../../src/top/view/paint.js';
import { plainText } from '../../src/top/view/plain.js';
import { rowsOf } from '../../src/top/view/rows.js';
import type { Reading } from '../../src/top/reading.js';
import { statisticsOf } from './statistics.js';

const choice = { sort: 'requests', reverse: false, filter: '' };

/** Figures of models with these rates. */
function figures(rates: Readonly<Record<string, number>>): TopFigures {
  const moment = (atMs: number, share: number): Reading => ({
    atMs,
    server: { name: 'tritonts', version: '0.1.0' },
    ready: true,
    index: Object.keys(rates).map((name) => ({ name, version: '1', state: 'READY' })),
    statistics: Object.entries(rates).map(([name, rate]) =>
      statisticsOf({ name, success: rate * share, successNs: rate * share * 1e6, rows: rate, runs: rate }),
    ),
    metrics: undefined,
    instances: new Map(),
  });
  return figuresBetween(momentOf(moment(0, 0)), momentOf(moment(1000, 1)));
}

function key(text: string, name: string | undefined = text, ctrl = false): Key {
  return { name, text, ctrl };
}

function viewOf(shown: TopFigures): LiveView {
  const view = new LiveView('http://a:8000', 2, choice);
  view.show({ figures: shown, failure: undefined });
  return view;
}

test('text takes the cells that a terminal gives it', () => {
  assert.equal(cellsOf('plain'), 5);
  assert.equal(cellsOf('模型'), 4);
  assert.equal(cellsOf('🚀'), 2);
  assert.equal(cellsOf('e\u0301'), 1);
  assert.equal(cut('abcdef', 4), 'abc…');
  assert.equal(cut('模型模型', 5), '模型…');
  assert.equal(cut('abc', 0), '');
  assert.equal(ending('abcdef', 4), '…def');
  assert.equal(ending('模型模型', 4), '…型');
  assert.equal(ending('abc', 3), 'abc');
  assert.equal(ending('abc', 0), '');
  assert.equal(fitted('ab', 4, 'left'), 'ab  ');
  assert.equal(fitted('ab', 4, 'right'), '  ab');
  assert.equal(cellsOf(fitted('模型', 3, 'left')), 3);
});

test('names with escape sequences are text', () => {
  const name = 'red\u001b[31m\nnext\u009b2J\u202e\ud800';
  assert.equal(safe(name), 'red\\u001b[31m\\nnext\\u009b2J\\u202e\ufffd');
  const shown = figures({ [name]: 1 });
  const texts = [
    plainText(shown, 'http://a', choice, new Date(0)).replaceAll('\n', ''),
    ...viewOf(shown).frame(200, 10, unpainted),
  ];
  for (const text of texts) assert.doesNotMatch(text, /[\u0000-\u001f\u007f-\u009f\u202e]/);
  assert.ok(texts.some((text) => text.includes('red\\u001b[31m')));
});

test('rows are sorted by each column, equal ones by name, and filtered by name and state', () => {
  const { models } = figures({ slow: 1, fast: 9, alpha: 1 });
  const names = (given: Partial<typeof choice>): string[] =>
    rowsOf(models, { ...choice, ...given }).map(({ model }) => model);
  assert.deepEqual(names({}), ['fast', 'alpha', 'slow']);
  assert.deepEqual(names({ reverse: true }), ['alpha', 'slow', 'fast']);
  assert.deepEqual(names({ sort: 'model' }), ['alpha', 'fast', 'slow']);
  assert.deepEqual(names({ filter: 'A' }), ['fast', 'alpha', 'slow'], 'all are READY');
  assert.deepEqual(names({ filter: 'LO' }), ['slow']);
  for (const sort of columnIds) assert.equal(names({ sort }).length, 3, sort);
});

test('unknown figures come last in both orders', () => {
  const { models } = figures({ a: 1, b: 2 });
  const [first] = models;
  assert.ok(first !== undefined);
  const all = [{ ...first, model: 'unknown', requestsPerS: undefined }, ...models];
  for (const reverse of [false, true])
    assert.equal(rowsOf(all, { ...choice, reverse }).at(-1)?.model, 'unknown');
});

test('a frame has the size of the terminal, and leaves out columns that do not fit', () => {
  const shown = figures(Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`model-${i}`, i])));
  for (const [width, height] of [
    [200, 50],
    [79, 24],
    [40, 10],
    [10, 5],
    [1, 1],
  ] as const) {
    const frame = viewOf(shown).frame(width, height, unpainted);
    assert.equal(frame.length, height);
    for (const line of frame) assert.ok(cellsOf(line) <= width, `${width}: '${line}'`);
  }
  const titles = (width: number): string => viewOf(shown).frame(width, 24, unpainted)[2] ?? '';
  assert.match(titles(200), /batches/);
  assert.match(titles(60), /^model .*req\/s/);
  assert.doesNotMatch(titles(60), /memory/);
});

test('keys sort, filter, pause and move', () => {
  const view = viewOf(figures({ alpha: 1, beta: 2 }));
  const text = (): string => view.frame(160, 12, unpainted).join('\n');
  const order = (): string[] => text().match(/^(alpha|beta|gamma)/gm) ?? [];
  assert.deepEqual(order(), ['beta', 'alpha']);
  assert.equal(view.press(key('r')), 'draw');
  assert.deepEqual(order(), ['alpha', 'beta']);
  view.press(key('r'));
  view.press(key('s'));
  assert.match(text(), /sorted by fail\/s/);
  view.press({ name: 'left', ctrl: false, text: undefined });
  assert.match(text(), /sorted by req\/s/);
  for (const letter of '/alq') view.press(key(letter));
  assert.match(text(), /filter: alq_/);
  // On a narrow terminal the end of what is written counts.
  assert.equal(view.frame(6, 12, unpainted).at(-1), '… alq_');
  view.press(key('\u007f', 'backspace'));
  view.press(key('\r', 'return'));
  assert.deepEqual(order(), ['alpha']);
  assert.match(text(), /filter 'al'/);
  view.press(key('\u001b', 'escape'));
  assert.deepEqual(order(), ['beta', 'alpha']);

  view.press(key(' ', 'space'));
  view.show({ figures: figures({ gamma: 5 }), failure: undefined });
  assert.deepEqual(order(), ['beta', 'alpha']);
  assert.match(text(), /PAUSED/);
  view.press(key(' ', 'space'));
  assert.deepEqual(order(), ['gamma']);

  view.press(key('?', undefined));
  assert.match(text(), /quit/);
  assert.equal(view.press(key('q')), 'draw', 'it closes the help');
  assert.equal(view.press(key('q')), 'quit');
  assert.equal(view.press(key('\u0003', 'c', true)), 'interrupt');
  assert.equal(view.press(key('x')), undefined);
});

test('the help fits a terminal of 80 columns and 24 lines, and moves on smaller ones', () => {
  const view = viewOf(figures({ alpha: 1 }));
  view.press(key('?', undefined));
  const frame = view.frame(79, 24, unpainted);
  assert.equal(frame.length, 24);
  assert.equal(frame.at(-1), '? q back');
  // No line is cut.
  for (const line of frame) assert.doesNotMatch(line, /…/);
  for (const { title, meaning } of columns)
    assert.ok(
      frame.some((line) => line.startsWith(title) && line.endsWith(meaning)),
      title,
    );
  for (const start of ['q, Ctrl-C', 'space', 's, r', '/', 'up, down', '?, h'])
    assert.ok(
      frame.some((line) => line.startsWith(start)),
      start,
    );
  assert.match(view.frame(79, 10, unpainted).at(-1) ?? '', /^lines 1 to 9 of 23 /);
  view.press({ name: 'pagedown', ctrl: false, text: undefined });
  assert.match(view.frame(79, 10, unpainted).at(-1) ?? '', /^lines 10 to 18 of 23 /);
  view.press({ name: 'end', ctrl: false, text: undefined });
  const end = view.frame(79, 10, unpainted);
  assert.match(end.at(-1) ?? '', /^lines 15 to 23 of 23 /);
  assert.match(end.at(-2) ?? '', /^batches /);
  view.press(key('q'));
  assert.match(view.frame(79, 10, unpainted).join('\n'), /alpha/);
});

test('the list moves, and stays within its rows', () => {
  const view = viewOf(figures(Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`m${i}`, 100 - i]))));
  const first = (): string | undefined =>
    view
      .frame(120, 10, unpainted)
      .find((line) => /^m\d/.test(line))
      ?.split(' ')[0];
  assert.equal(first(), 'm0');
  view.press({ name: 'down', ctrl: false, text: undefined });
  assert.equal(first(), 'm1');
  view.press({ name: 'end', ctrl: false, text: undefined });
  assert.equal(first(), 'm24');
  view.press({ name: 'pageup', ctrl: false, text: undefined });
  assert.equal(first(), 'm18');
  view.press({ name: 'home', ctrl: false, text: undefined });
  view.press({ name: 'up', ctrl: false, text: undefined });
  assert.equal(first(), 'm0');
});

test('a server that is gone is told of, above the last figures', () => {
  const view = viewOf(figures({ alpha: 1 }));
  view.show({ figures: figures({ alpha: 1 }), failure: 'UNAVAILABLE: no \u001banswer' });
  const [head = '', , , , row = ''] = view.frame(160, 12, painted);
  assert.match(head, /^\u001b\[31mgone, trying again: UNAVAILABLE: no \\u001banswer/);
  assert.match(row, /alpha/);
});

test('JSON has null for what is unknown', () => {
  const line = jsonLine(figures({ alpha: 3 }), 'http://a', choice, new Date(0));
  const read = JSON.parse(line) as { readonly models: readonly Readonly<Record<string, unknown>>[] };
  const [model] = read.models;
  assert.deepEqual(
    [model?.['model'], model?.['requests_per_s'], model?.['p99_ms'], model?.['latency_source']],
    ['alpha', 3, null, 'none'],
  );
});
