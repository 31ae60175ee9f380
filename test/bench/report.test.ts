import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge, type Figure } from '../../bench/reports/figures.js';
import { json, resultsFrom } from '../../bench/reports/json.js';
import type { Measured } from '../../bench/limits/limits.js';
import { grouped, significant } from '../../src/perf/plot/numbers.js';
import { page } from '../../bench/reports/page.js';
import { report } from '../../bench/reports/report.js';
import type { LoadRow, Part, Results } from '../../bench/reports/results.js';
import { estimate } from '../../bench/reports/statistics.js';
import { table } from '../../bench/reports/table.js';

const loads: LoadRow[] = [
  {
    model: 'add',
    outstanding: 64,
    contestants: [
      {
        contestant: 'tritonts',
        rounds: [],
        requestsPerSecond: estimate([430_000]),
        latency: { p50: 0.133, p95: 0.18, p99: 0.5 },
        batches: new Map([[64, 10]]),
        ratios: {},
      },
      {
        contestant: 'piscina',
        rounds: [],
        requestsPerSecond: estimate([17_000]),
        latency: { p50: 3.31, p95: 8.4, p99: 10.8 },
        batches: undefined,
        ratios: { 'tritonts, inline off': estimate([25.3]) },
      },
    ],
  },
];

const results: Results = {
  machine: {
    cpu: 'A processor',
    cores: 2,
    memoryGiB: 8,
    load: 0.1,
    platform: 'linux-x64',
    node: '20.19.0',
    commit: 'abc',
  },
  setup: { threading: 'equal', threads: 2, rounds: 1 },
  library: { path: '/lib', version: '1.30.0' },
  models: [{ model: 'add', title: 'Add', how: 'tritonts: 1 instance', windowMs: 100 }],
  loads,
  delays: [],
  measured: [],
  defaults: undefined,
  notes: ['a note'],
};

function figure(atLeast: number): Figure {
  return {
    kind: 'ratio',
    model: 'add',
    outstanding: 64,
    ours: 'tritonts, inline off',
    against: 'piscina',
    atLeast,
  };
}

test('a report names machine, versions and threads, and has a line a contestant', () => {
  const text = report(results, judge(loads, [], [figure(25)]));
  assert.match(text, /A processor, 2 core\(s\), 8 GiB/);
  assert.match(text, /Node 20\.19\.0, tritonts at abc\nONNX Runtime 1\.30\.0/);
  assert.match(text, /2 thread\(s\) for each library/);
  assert.match(text, /64 {2}tritonts +430,000 +0\.13 +0\.18 +0\.50 +64\.0$/m);
  assert.match(text, /piscina +17,000 .* 25\.3$/m);
  assert.match(text, /tritonts: 1 instance; turns of 100 ms$/m);
  assert.match(text, /a note/);
  assert.match(text, /1 of 1 measured figures met$/m);
});

test('a report ends with the figures that are missed', () => {
  const text = report(results, judge(loads, [], [figure(30), { ...figure(1), model: 'mlp' }]));
  assert.match(text, /0 of 1 measured figures met, 1 not measured in this run\. Missed:/);
  assert.match(text, /add +64 +tritonts, inline off +piscina +≥ 30 +25\.3\n$/);
});

test('single figures that are missed are in the closing table, and counted', () => {
  const single: Measured[] = [
    { what: 'a string in', value: estimate([90, 100, 110]), unit: 'ns', limit: { atMost: 80 } },
    { what: 'weights', value: estimate([1]), unit: 'x', limit: { atMost: 1.1 } },
    { what: 'only shown', value: estimate([9]), unit: 'x' },
  ];
  const text = report({ ...results, measured: single }, judge(loads, [], [figure(30)]));
  assert.match(text, /1 of 3 measured figures met\. Missed:/);
  assert.match(text, /piscina +≥ 30 +25\.3\na string in +≤ 80 ns +100 +10\.0\n$/);
});

test("everybody's defaults are a part of their own, before the conclusion, and not judged", () => {
  const defaults: Part = {
    setup: { threading: 'defaults', threads: undefined, rounds: 3 },
    models: [{ model: 'add', title: 'Add', how: 'tritonts: its defaults', windowMs: 100 }],
    loads: loads.map((load) => ({ ...load, outstanding: 512 })),
  };
  const text = report({ ...results, defaults }, judge(loads, [], [{ ...figure(1), outstanding: 512 }]));
  const [first = '', second = '', ...more] = text.split("SECOND PART: EVERYBODY'S DEFAULTS");
  assert.equal(more.length, 0);
  assert.match(first, /64 {2}tritonts/);
  assert.match(
    second,
    /everybody's own threads and spinning, by which no figure of a load is judged; 3 interleaved round\(s\)/,
  );
  assert.match(
    second,
    /tritonts: its defaults[^]* 512 {2}tritonts[^]*0 of 0 measured figures met, 1 not measured/,
  );
  assert.match(page({ ...results, defaults }, []), /SECOND PART/);
  assert.doesNotMatch(report(results, []), /SECOND PART/);
});

test('results come back from JSON as they were, histograms included', () => {
  const back = resultsFrom(json(results));
  assert.deepEqual(back.loads[0]?.contestants[0]?.batches, new Map([[64, 10]]));
  assert.equal(json(back), json(results));
});

test('numbers are printed with the decimals that matter', () => {
  assert.equal(significant(0), '0');
  assert.equal(significant(-1e-13), '0');
  assert.equal(significant(0.0123), '0.012');
  assert.equal(significant(3.14159), '3.14');
  assert.equal(significant(-12.34), '-12.3');
  assert.equal(significant(1234.5), '1,235');
  assert.equal(grouped(1_234_567.8), '1,234,568');
});

test('a table has text to the left and numbers to the right', () => {
  const text = table(
    ['name', 'count'],
    [
      ['a', '1'],
      ['long one', '20'],
    ],
  );
  assert.equal(text, 'name      count\n--------  -----\na             1\nlong one     20');
});
