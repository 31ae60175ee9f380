import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge, type Figure } from '../../bench/figures.js';
import { grouped, significant } from '../../bench/numbers.js';
import { report } from '../../bench/report.js';
import type { LoadRow, Results } from '../../bench/results.js';
import { estimate } from '../../bench/statistics.js';
import { table } from '../../bench/table.js';

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
  setup: { threading: 'equal', threads: 2, rounds: 1, windowMs: 100 },
  library: { path: '/lib', version: '1.30.0' },
  models: [{ model: 'add', title: 'Add', how: 'tritonts: 1 instance' }],
  loads,
  delays: [],
  measured: [],
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
  assert.match(text, /2 thread\(s\) for everybody/);
  assert.match(text, /64 {2}tritonts +430,000 +0 % +0\.13 +0\.18 +0\.50 +64\.0$/m);
  assert.match(text, /piscina +17,000 .* 25\.3 +0\.000$/m);
  assert.match(text, /a note/);
  assert.match(text, /1 of 1 measured figures met$/m);
});

test('a report ends with the figures that are missed', () => {
  const text = report(results, judge(loads, [], [figure(30), { ...figure(1), model: 'mlp' }]));
  assert.match(text, /0 of 1 measured figures met, 1 not measured in this run\. Missed:/);
  assert.match(text, /add +64 +tritonts, inline off +piscina +≥ 30 +25\.3 +0\.000\n$/);
});

test('numbers are printed with the decimals that matter', () => {
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
