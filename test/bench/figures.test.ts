import assert from 'node:assert/strict';
import { test } from 'node:test';
import { figures, isRequired, judge, requiredLoads, type Figure } from '../../bench/reports/figures.js';
import { delayLoads, models } from '../../bench/measuring/models.js';
import type { ContestantRow, DelayRow, LoadRow } from '../../bench/reports/results.js';
import { estimate, type Estimate } from '../../bench/reports/statistics.js';

const figure: Figure = {
  kind: 'ratio',
  model: 'add',
  outstanding: 64,
  ours: 'tritonts, inline off',
  against: 'piscina',
  atLeast: 25,
};

const limit: Figure = {
  kind: 'delay',
  model: 'text-32',
  outstanding: 32,
  ours: 'tritonts',
  against: 'idle loop',
  atMostMs: 1,
};

function about(median: number, spread: number): Estimate {
  return { median, spread, least: median - 2 * spread, greatest: median + 2 * spread };
}

function load(ratio: Estimate | undefined, change: Partial<LoadRow> = {}): LoadRow {
  const row: ContestantRow = {
    contestant: 'piscina',
    rounds: [],
    requestsPerSecond: about(1, 0),
    latency: undefined,
    batches: undefined,
    ratios: ratio ? { 'tritonts, inline off': ratio } : {},
  };
  return { model: 'add', outstanding: 64, contestants: [row], ...change };
}

function delay(contestant: DelayRow['contestant'], p99: Estimate): DelayRow {
  return {
    model: 'text-32',
    outstanding: 32,
    contestant,
    p99,
    longest: about(9, 0),
    timeLine: [],
  };
}

test('a ratio that reaches its figure is met', () => {
  assert.equal(judge([load(about(25, 0))], [], [figure])[0]?.met, true);
});

test('a ratio below its figure is met within its spread, and no further', () => {
  assert.equal(judge([load(about(24, 1))], [], [figure])[0]?.met, true);
  assert.equal(judge([load(about(24, 0.9))], [], [figure])[0]?.met, false);
});

test('a figure is compared only with the row of its model, load and contestants', () => {
  const others = [
    load(about(99, 0), { model: 'mlp' }),
    load(about(99, 0), { outstanding: 512 }),
    load(about(99, 0), { contestants: [] }),
  ];
  const [verdict] = judge(others, [], [figure]);
  assert.equal(verdict?.measured, undefined);
  assert.equal(verdict?.met, false);
  assert.equal(judge([load(about(99, 0))], [], [{ ...figure, ours: 'tritonts' }])[0]?.measured, undefined);
});

test('a delay is what timers come later than beside an idle loop', () => {
  const idle = delay('idle loop', about(1.25, 0.25));
  const [met] = judge([], [idle, delay('tritonts', about(2.5, 0))], [limit]);
  assert.ok(met);
  assert.equal(met.measured?.median, 1.25);
  assert.equal(met.measured.spread, 0.25);
  assert.equal(met.met, true);
  assert.equal(judge([], [idle, delay('tritonts', about(2.75, 0))], [limit])[0]?.met, false);
  assert.equal(judge([], [delay('tritonts', about(0, 0))], [limit])[0]?.measured, undefined);
});

test('every figure belongs to a load that the full run has', () => {
  for (const { model: name, outstanding, kind } of figures) {
    const model = models.find((entry) => entry.name === name);
    assert.ok(model, `${name} is no model`);
    const loads = kind === 'delay' ? delayLoads[name]?.outstanding : model.outstanding;
    assert.ok(loads?.includes(outstanding), `${name} at ${outstanding} is not measured`);
  }
});

test('only the loads and the contestants of the ratios are required', () => {
  assert.deepEqual(requiredLoads('add'), [1, 64, 512]);
  assert.deepEqual(requiredLoads('text-32'), [32]);
  assert.deepEqual(requiredLoads('digits'), []);
  assert.equal(isRequired('mlp', 'bare C++ loop'), true);
  assert.equal(isRequired('add', 'bare C++ loop'), false);
});

test('a delay of one round has no spread, and is judged without', () => {
  const rows = [delay('idle loop', estimate([1])), delay('tritonts', estimate([2]))];
  const [verdict] = judge([], rows, [limit]);
  assert.equal(verdict?.measured?.spread, undefined);
  assert.equal(verdict?.met, true);
});
