import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { picture } from '../../bench/readme/picture.js';
import { columns, drawn, readmeLoads, readmeRows, watched } from '../../bench/readme/rows.js';
import { storedFrom, storedFromText, storedText, type Stored } from '../../bench/readme/stored.js';
import { performanceTable, readmeTable } from '../../bench/readme/tables.js';
import { rendered, replaced, stored } from '../../bench/readme/write.js';
import { models } from '../../bench/measuring/models.js';
import { readOptions } from '../../bench/options.js';
import type { Results } from '../../bench/reports/results.js';
import { estimate } from '../../bench/reports/statistics.js';

/** Results as a run stores them: tritonts is twice as fast as all others. */
const results: Results = {
  machine: {
    cpu: 'A & B',
    cores: 2,
    memoryGiB: 8,
    load: 0,
    platform: 'linux-x64',
    node: '20.19.0',
    commit: 'abc',
  },
  setup: { threading: 'equal', threads: 2, rounds: 3 },
  library: { path: '/somewhere/libonnxruntime.so', version: '1.30.0' },
  models: [],
  loads: models.flatMap(({ name }) =>
    readmeLoads(name).map((outstanding) => ({
      model: name,
      outstanding,
      contestants: columns.map(([contestant]) => ({
        contestant,
        rounds: [{ answers: 1, seconds: 1, requestsPerSecond: 1, latency: undefined }],
        requestsPerSecond: estimate([contestant === 'tritonts' ? 2468 : 1234]),
        latency: { p50: 1, p95: 2, p99: 3 },
        batches: new Map([[4, 2]]),
        ratios: contestant === 'tritonts' ? {} : { tritonts: estimate([2]) },
      })),
    })),
  ),
  delays: (
    [
      ['idle loop', 0.1],
      ['tritonts', 0.5],
      ['onnxruntime-node', 170],
      ['batched by hand', 120],
    ] as const
  ).map(([contestant, late]) => ({
    model: watched.model,
    outstanding: watched.outstanding,
    contestant,
    p99: estimate([late]),
    longest: estimate([late]),
    timeLine: [
      { at: 200, late },
      { at: 200 + 2 * late, late: 0.123456 },
    ],
  })),
  measured: [],
  defaults: undefined,
  notes: [],
};
const kept = storedFrom(results, new Date('2026-01-31T12:00:00Z'), { tritonts: '0.1.0', piscina: '5.0.0' });

test('what is stored can be read again, and names no path', () => {
  const text = storedText(kept);
  const again = storedFromText(text);
  assert.equal(storedText(again), text);
  assert.deepEqual(again.loads[0]?.contestants[0]?.batches, new Map([[4, 2]]));
  assert.doesNotMatch(text, /somewhere/);
  assert.equal(kept.delays[1]?.timeLine[1]?.late, 0.12);
});

test("the README's table has every row, the best in bold, the ratio, and where the figures come from", () => {
  const text = readmeTable(kept);
  assert.equal(text.match(/^\|.*\*\*2,468\*\* \| 2\.00 × \|$/gm)?.length, readmeRows.length);
  assert.match(text, /divides the rate of tritonts by that of `onnxruntime-node` in each round/);
  assert.match(text, /comes 0\.50 ms late with tritonts .* it is 170 ms, and .* 120 ms/);
  for (const word of [
    '2026-01-31',
    'A & B',
    'Node 20.19.0',
    'ONNX Runtime 1.30.0',
    'Piscina 5.0.0',
    'at abc',
  ])
    assert.ok(text.includes(word), word);
});

test('what is best in a row is bold, also where it is not ours', () => {
  const loads = kept.loads.map((load) => ({
    ...load,
    contestants: load.contestants.map((row) =>
      load.model === 'conv' && row.contestant === 'piscina'
        ? { ...row, requestsPerSecond: estimate([9876]) }
        : row,
    ),
  }));
  for (const text of [readmeTable({ ...kept, loads }), performanceTable({ ...kept, loads })]) {
    const row = text.split('\n').find((line) => line.includes('convolutions')) ?? '';
    assert.match(row, /\| \*\*9,876\*\*.* \| 2,468[ ;]/);
    assert.equal(text.match(/\*\*/g)?.length, 2 * readmeRows.length);
  }
});

test("the performance page's table has every row with its latencies", () => {
  const text = performanceTable(kept);
  assert.equal(text.match(/^\|.*\| \*\*2,468\*\*; 1\.00, 3\.00 \|$/gm)?.length, readmeRows.length);
});

test('the picture is one file, for light and dark, with a line for everybody', () => {
  const text = picture(kept);
  assert.match(text, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  assert.match(text, /prefers-color-scheme: dark/);
  assert.doesNotMatch(text.replace('http://www.w3.org/2000/svg', ''), /https?:|href|url\(|<script|<image/);
  const [, throughput = '', delay = ''] = text.split(/<svg x=/);
  assert.deepEqual(styles(throughput), ['direct', 'hand', 'ours', 'piscina']);
  assert.equal(throughput.match(/<circle/g)?.length, 4 * drawn.outstanding.length);
  assert.deepEqual(styles(delay), ['direct', 'hand', 'ours']);
  const opened = text.match(/<[a-z]+[^>]*[^/]>/g)?.length;
  assert.equal(opened, text.match(/<\/[a-z]+>/g)?.length);
});

/** Classes of the lines of a plot, in the alphabet's order. */
function styles(plot: string): string[] {
  return [...plot.matchAll(/class="series (\w+)"/g)].map(([, style = '']) => style).toSorted();
}

test('results without a row are refused by name', () => {
  const loads = kept.loads.filter(({ model }) => model !== 'conv');
  assert.throws(() => readmeTable({ ...kept, loads }), /no onnxruntime-node for conv with 32 outstanding/);
});

test('a text goes between the markers of a page, and nothing else changes', () => {
  const page =
    'a\n\n<!-- benchmark: written by npm run bench -- --readme -->\n\nold\n\n<!-- /benchmark -->\n\nb\n';
  assert.equal(replaced(page, 'new', 'page'), page.replace('old', 'new'));
  assert.throws(() => replaced('a', 'new', 'README.md'), /README\.md has no lines/);
});

test('--readme has rows of its own, and --stored measures none', () => {
  assert.equal(readOptions(['--readme']).readme, 'measured');
  assert.equal(readOptions(['--readme', '--stored']).readme, 'stored');
  assert.equal(readOptions([]).readme, undefined);
  assert.throws(() => readOptions(['--readme', '--quick']), /--readme has rows of its own/);
  assert.throws(() => readOptions(['--stored']), /--stored goes with --readme/);
});

const current: Stored = await stored();
const files = await rendered(current);
for (const [path, text] of files) {
  test(`${path} shows what the last run left`, async () => {
    assert.equal(await readFile(new URL(`../../../${path}`, import.meta.url), 'utf8'), text);
  });
}
