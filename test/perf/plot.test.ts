import assert from 'node:assert/strict';
import { test } from 'node:test';
import sharp from 'sharp';
import { card } from '../../src/perf/plot/card.js';
import { placeLabels } from '../../src/perf/plot/labels.js';
import { fixedColours } from '../../src/perf/plot/plot-style.js';
import { escape, scaleOf, svg, type Plot } from '../../src/perf/plot/plot.js';
import { short } from '../../src/perf/plot/numbers.js';
import { delayPlot, plotsOf } from '../../bench/reports/plots.js';
import type { ContestantRow, DelayRow, LoadRow } from '../../bench/reports/results.js';
import { estimate } from '../../bench/reports/statistics.js';

test('a logarithmic scale has places in proportion to the logarithm, and whole powers as ticks', () => {
  const { ticks, place } = scaleOf('log2', [1, 512], 0, 90);
  assert.deepEqual(ticks, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
  assert.ok(Math.abs(place(8) - 30) < 1e-9);
  assert.deepEqual(scaleOf('log10', [0.02, 700], 0, 1).ticks, [0.01, 0.1, 1, 10, 100, 1000]);
});

test('a logarithmic scale that spans little has ticks in between', () => {
  assert.deepEqual(scaleOf('log10', [300, 4000], 0, 1).ticks, [200, 500, 1000, 2000, 5000]);
});

test('one value alone has a scale, too', () => {
  const { ticks, place } = scaleOf('log2', [64, 64], 10, 20);
  assert.equal(ticks.length, 2);
  assert.equal(place(64), 10);
});

test('a linear scale begins at 0 and ends at a round number', () => {
  const { ticks, place } = scaleOf('linear', [0, 235], 100, 0);
  assert.deepEqual(ticks, [0, 50, 100, 150, 200, 250]);
  assert.equal(place(125), 50);
});

test('a plot says what it shows, marks every point, and has its words escaped', () => {
  const plot: Plot = {
    title: 'a < b',
    x: { label: 'across', scale: 'log2', format: String },
    y: { label: 'up', scale: 'linear', format: String },
    series: [
      {
        name: 'x & y',
        style: 'ours',
        points: [
          { x: 1, y: 2 },
          { x: 2, y: 3, low: 1, high: 4 },
        ],
      },
    ],
  };
  const text = svg(plot);
  assert.match(text, /role="img" aria-label="a &lt; b: up against across"/);
  assert.equal(text.match(/<circle/g)?.length, 2);
  assert.match(text, /<title>x &amp; y: 3 at 2<\/title>/);
  assert.equal(escape('"'), '&quot;');
});

function row(
  contestant: ContestantRow['contestant'],
  rate: number,
  more: Partial<ContestantRow> = {},
): ContestantRow {
  return {
    contestant,
    rounds: [],
    requestsPerSecond: estimate([rate]),
    latency: { p50: 1, p95: 2, p99: 3 },
    batches: undefined,
    ratios: {},
    ...more,
  };
}

const loads: LoadRow[] = [
  {
    model: 'add',
    outstanding: 8,
    contestants: [row('tritonts', 80, { batches: new Map([[4, 2]]) }), row('piscina', 8)],
  },
  {
    model: 'add',
    outstanding: 1,
    contestants: [row('tritonts', 10), row('bare C++ loop', 99, { latency: undefined })],
  },
  { model: 'mlp', outstanding: 1, contestants: [row('tritonts', 7)] },
];

test("a model's plots are of its own loads, in order, with those who were measured", () => {
  const [throughput, batches, p50] = plotsOf('add', loads);
  assert.deepEqual(
    throughput?.series.map(({ name, points }) => [name, ...points.map(({ x, y }) => [x, y])]),
    [
      ['tritonts', [1, 10], [8, 80]],
      ['piscina', [8, 8]],
      ['bare C++ loop', [1, 99]],
    ],
  );
  assert.deepEqual(
    batches?.series.map(({ points }) => points),
    [[{ x: 8, y: 4 }]],
  );
  assert.deepEqual(
    p50?.series.map(({ name }) => name),
    ['tritonts', 'piscina'],
  );
  assert.deepEqual(plotsOf('conv', loads), []);
});

function delayRow(contestant: DelayRow['contestant'], timeLine: DelayRow['timeLine']): DelayRow {
  const longest = estimate([Math.max(0, ...timeLine.map(({ late }) => late))]);
  return { model: 'text-32', outstanding: 32, contestant, p99: longest, longest, timeLine };
}

test('a delay is a line that rises while the timer waits', () => {
  const plot = delayPlot([delayRow('onnxruntime-node', [{ at: 250, late: 0.5 }])]);
  assert.deepEqual(plot?.series[0]?.points, [
    { x: 249.5, y: 0.1 },
    { x: 249.7, y: 0.2 },
    { x: 249.9, y: 0.4 },
    { x: 250, y: 0.5 },
    { x: 250, y: 0.1 },
  ]);
  assert.equal(delayPlot([]), undefined);
});

test('every measured contestant is drawn, and the idle loop, too; the calmest comes last, over the others', () => {
  const plot = delayPlot([
    delayRow('idle loop', [{ at: 1, late: 0.05 }]),
    delayRow('tritonts', [{ at: 2, late: 1 }]),
    delayRow('onnxruntime-node', [{ at: 200, late: 180 }]),
    delayRow('batched by hand', [{ at: 150, late: 120 }]),
    delayRow('tritonts, inline off', []),
  ]);
  assert.deepEqual(
    plot?.series.map(({ name, style }) => [name, style]),
    [
      ['onnxruntime-node, p99 180 ms', 'direct'],
      ['batched by hand, p99 120 ms', 'hand'],
      ['tritonts, p99 1.00 ms', 'ours'],
      ['idle loop, p99 0.050 ms', 'bare'],
    ],
  );
  // A logarithmic axis has no 0.
  const lowest = Math.min(...plot.series.flatMap(({ points }) => points.map(({ y }) => y)));
  assert.equal(lowest, 0.1);
});

test('large numbers on an axis are short', () => {
  assert.deepEqual([0.001, 20, 1500, 2e6].map(short), ['0.001', '20', '1.5k', '2M']);
});

test('labels of points that are close together cover neither each other nor a point', () => {
  const marks = [
    { left: 100, top: 100, text: '9' },
    { left: 97, top: 96, text: '11' },
    { left: 100, top: 110, text: '13' },
  ];
  const places = placeLabels(marks, { left: 0, right: 200, top: 0, bottom: 200 });
  const boxes = places.map(({ x, y, anchor }, i) => {
    const width = 7 * (marks[i]?.text.length ?? 0);
    const left = anchor === 'middle' ? x - width / 2 : anchor === 'end' ? x - width : x;
    // Words side by side have a space between them.
    return { left: left - 2, right: left + width + 2, top: y - 10, bottom: y };
  });
  const solid = marks.map(({ left, top }) => ({
    left: left - 3,
    right: left + 3,
    top: top - 3,
    bottom: top + 3,
  }));
  for (const [i, one] of boxes.entries())
    for (const other of [...boxes.slice(i + 1), ...solid])
      assert.ok(
        one.right <= other.left ||
          other.right <= one.left ||
          one.bottom <= other.top ||
          other.bottom <= one.top,
      );
});

test('a picture has its colours in viewers without variables and media queries', async () => {
  const picture = card({ width: 40, height: 40 }, 'p', '<g class="series ours"><path d="M10 20h20"/></g>');
  const { data, info } = await sharp(Buffer.from(picture)).raw().toBuffer({ resolveWithObject: true });
  const colour = (x: number, y: number): number[] =>
    [...data.subarray((y * info.width + x) * info.channels)].slice(0, 3);
  assert.deepEqual(colour(20, 8), [255, 255, 255]);
  assert.deepEqual(colour(20, 20), [0x0b, 0x57, 0xd0]);
  assert.match(
    picture,
    /\(prefers-color-scheme: dark\) \{[^]*\.card \{ fill: #0d1117; stroke: #2a313c; \}\n\}/,
  );
  assert.throws(() => fixedColours('a { fill: var(--none); }'), RangeError);
});

test('a label stands above its point, or below it at the upper edge', () => {
  const axis = { label: 'x', scale: 'linear', format: String } as const;
  const points = [
    { x: 1, y: 1, label: 'low' },
    { x: 2, y: 10, label: '<' },
  ];
  const text = svg({ title: 't', x: axis, y: axis, series: [{ name: 'n', style: 'ours', points }] });
  const labels = [...text.matchAll(/<text class="point" x="[\d.]+" y="([\d.]+)"[^>]*>([^<]*)<\/text>/g)];
  const circles = [...text.matchAll(/<circle cx="[\d.]+" cy="([\d.]+)"/g)].map(([, top]) => Number(top));
  const places = labels.map(([, y, word], i) => [word, Number(y) - (circles[i] ?? NaN)]);
  assert.deepEqual(places, [
    ['low', -8],
    ['&lt;', 18],
  ]);
});
