import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomOf } from '../../src/perf/inputs/random.js';
import { givenArrivals, poissonArrivals } from '../../src/perf/load/arrivals.js';
import { StepSources, type SequencePlan } from '../../src/perf/load/step-source.js';
import { DurationHistogram } from '../../src/perf/measure/histogram.js';
import { searchBinary, searchLinearly } from '../../src/perf/measure/levels.js';
import type { Level } from '../../src/perf/measure/level.js';
import { between, type StatisticsOfVersion } from '../../src/perf/measure/server-side.js';
import { Tally } from '../../src/perf/measure/tally.js';
import { escape } from '../../src/perf/plot/plot.js';
import { judge } from '../../src/perf/measure/stability.js';
import { tQuantile, twoSidedP, welch } from '../../src/perf/report/student.js';
import { compareRuns, missingLevels } from '../../src/perf/report/compare.js';
import type { StepStream } from '../../src/perf/inputs/step.js';
import type { PerfRun } from '../../src/perf/run.js';

const near = (value: number, wanted: number, share: number, what?: string): void => {
  assert.ok(Math.abs(value - wanted) <= share * Math.abs(wanted), `${what ?? ''} ${value}, not ${wanted}`);
};

test('percentiles are the durations at the places of perf_analyzer, to one part in a thousand', () => {
  const random = randomOf(7);
  for (const scale of [0.0005, 1, 300, 100_000]) {
    const values = Array.from({ length: 5000 }, () => random() ** 3 * scale);
    const histogram = new DurationHistogram();
    for (const value of values) histogram.add(value);
    const sorted = values.toSorted((a, b) => a - b);
    for (const percent of [0, 1, 50, 90, 95, 99, 100]) {
      const wanted = sorted[Math.floor((percent / 100) * (sorted.length - 1) + 0.5)] ?? 0;
      const got = histogram.percentileMs(percent);
      // Below 2 µs the resolution is a nanosecond.
      assert.ok(
        Math.abs(got - wanted) <= Math.max(wanted / 1000, 1e-6),
        `${percent} of ${scale}: ${got}, not ${wanted}`,
      );
    }
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
    near(histogram.meanMs, mean, 1e-9);
    near(histogram.deviationMs, Math.sqrt(variance), 1e-6);
    assert.deepEqual(
      [histogram.leastMs, histogram.greatestMs, histogram.count],
      [sorted[0], sorted.at(-1), 5000],
    );
  }
});

test('merged histograms are the histogram of all durations; an empty one has zeros', () => {
  const [all, a, b] = [new DurationHistogram(), new DurationHistogram(), new DurationHistogram()];
  for (let i = 0; i < 1000; i++) {
    const value = (i * 7919) % 1000;
    all.add(value);
    (i % 3 === 0 ? a : b).add(value);
  }
  a.merge(b);
  a.merge(new DurationHistogram());
  for (const percent of [0, 12, 50, 99, 100])
    assert.equal(a.percentileMs(percent), all.percentileMs(percent));
  assert.deepEqual([a.count, a.meanMs, a.greatestMs], [all.count, all.meanMs, all.greatestMs]);
  const none = new DurationHistogram();
  assert.deepEqual([none.percentileMs(99), none.meanMs, none.leastMs, none.deviationMs], [0, 0, 0, 0]);
  none.add(-1);
  none.add(Infinity);
  assert.equal(none.count, 2);
});

test('windows are stable if the greatest of the last three is at most so much above the least', () => {
  const windows = (...figures: readonly (readonly [number, number])[]) =>
    figures.map(([throughput, latencyMs]) => ({ throughput, latencyMs }));
  const stable = (...figures: readonly (readonly [number, number])[]): boolean =>
    judge(windows(...figures), 10, 0).stable;
  assert.equal(stable([100, 1], [100, 1]), false, 'two windows');
  assert.equal(stable([100, 1], [110, 1], [105, 1]), true, 'exactly ten percent');
  assert.equal(stable([100, 1], [111, 1], [105, 1]), false, 'more than ten percent');
  assert.equal(stable([100, 1], [100, 1.2], [100, 1]), false, 'latencies');
  assert.equal(stable([1, 9], [100, 1], [101, 1], [99, 1]), true, 'only the last three count');
  assert.equal(stable([0, 0], [0, 0], [0, 0]), false, 'a window without responses');
  assert.equal(judge(windows([9, 4], [9, 4], [9, 5]), 90, 5).aboveThreshold, true, 'at the threshold');
  assert.equal(judge(windows([9, 4], [9, 4], [9, 4.9]), 90, 5).aboveThreshold, false);
});

test("Student's distribution has the values of its tables", () => {
  // Abramowitz and Stegun, table 26.10.
  for (const [p, freedom, t] of [
    [0.05, 1, 12.706],
    [0.01, 4, 4.604],
    [0.01, 10, 3.169],
    [0.05, 30, 2.042],
    [0.001, 60, 3.46],
  ] as const) {
    near(tQuantile(p, freedom), t, 5e-4);
    near(twoSidedP(t, freedom), p, 5e-3);
  }
});

test("Welch's test has the values of a published example", () => {
  // The first example of Wikipedia's page on the test: t = -2.46, 25 degrees of freedom, p = 0.021.
  const first = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4];
  const second = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4];
  const test = welch(first, second);
  assert.ok(test);
  near((test.means[0] - test.means[1]) / test.error, -2.46, 0.01);
  near(test.freedom, 25, 0.01);
  near(test.p, 0.021, 0.03);
  assert.equal(welch([1], [1, 2]), undefined);
  assert.equal(welch([1, 1], [1, 1])?.p, 1);
  assert.equal(welch([1, 1], [2, 2])?.p, 0);
});

test('a comparison calls a difference significant only if slices do not explain it', () => {
  const random = randomOf(3);
  const slices = (rate: number, meanMs: number) =>
    Array.from({ length: 30 }, () => ({
      requestsPerSecond: rate * (1 + 0.02 * (random() - 0.5)),
      meanMs: meanMs * (1 + 0.5 * (random() - 0.5)),
      p99Ms: 5,
    }));
  const level = (rate: number, meanMs: number) => ({
    mode: 'concurrency',
    value: 4,
    batch: 2,
    inferencesPerSecond: rate * 2,
    slices: slices(rate, meanMs),
  });
  const run = { levels: [level(1050, 1.0)], batch: 2 } as unknown as PerfRun;
  const [throughput, mean, p99] = compareRuns(run, { model: 'm', batch: 2, levels: [level(1000, 1.005)] });
  assert.ok(throughput && mean && p99);
  assert.deepEqual([throughput.significant, throughput.better], [true, true]);
  near(throughput.change, 0.05, 0.2);
  near(throughput.before, 2000, 0.02);
  assert.equal(mean.significant, false);
  assert.deepEqual([p99.significant, p99.change], [false, 0]);
  assert.deepEqual(compareRuns(run, { model: 'm', batch: 2, levels: [] }), []);
  // A fraction that is inexact is the same level in both lists.
  const inexact = { model: 'm', batch: 2, levels: [{ ...level(1000, 1), value: 4.000000000000001 }] };
  assert.deepEqual([compareRuns(run, inexact).length, missingLevels(run, inexact)], [3, []]);
});

test('the gaps of a Poisson process have its mean, its deviation, and no memory', () => {
  const next = poissonArrivals(200, randomOf(1));
  const gaps = Array.from({ length: 40_000 }, next);
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  near(mean, 5, 0.02);
  near(Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length), 5, 0.03);
  // The share of gaps above the mean is 1/e.
  near(gaps.filter((gap) => gap > 5).length / gaps.length, Math.exp(-1), 0.03);
  const given = givenArrivals([1, 2, 3]);
  assert.deepEqual([given(), given(), given(), given()], [1, 2, 3, 1]);
});

const stream = (from: number, length: number): StepStream => {
  const steps = Array.from({ length }, (_, i) => ({ index: from + i, inputs: {}, expected: undefined }));
  const [first = { index: from, inputs: {}, expected: undefined }, ...rest] = steps;
  return [first, ...rest];
};

test('sequences begin with start, end with end, have the lengths asked for, and ids of the range', () => {
  const plan: SequencePlan = { length: 10, variation: 20, firstId: 5, lastId: 6 };
  const sources = new StepSources([stream(0, 3)], plan, randomOf(1));
  const source = sources.source();
  const lengths: number[] = [];
  const ids: unknown[] = [];
  for (let i = 0; i < 50; i++) {
    let length = 0;
    for (;;) {
      const { sequence } = source.next(false);
      assert.ok(sequence);
      assert.equal(sequence.start, length === 0);
      length++;
      if (length === 1) ids.push(sequence.id);
      assert.equal(source.open, !(sequence.end ?? false));
      if (sequence.end === true) break;
    }
    lengths.push(length);
  }
  assert.deepEqual([Math.min(...lengths), Math.max(...lengths)], [8, 12]);
  assert.deepEqual(ids.slice(0, 5), [5, 6, 5, 6, 5]);
});

test('no two open sequences have one id, also if their lengths differ', () => {
  const plan: SequencePlan = { length: 10, variation: 100, firstId: 1, lastId: 3 };
  const sources = new StepSources([stream(0, 3)], plan, randomOf(2));
  const own = Array.from({ length: 3 }, () => ({ source: sources.source(), id: undefined as unknown }));
  for (let i = 0; i < 300; i++) {
    const slot = own[i % 3];
    assert.ok(slot);
    slot.id = slot.source.next(false).sequence?.id;
    assert.equal(new Set(own.map(({ id }) => id ?? NaN)).size, Math.min(3, i < 3 ? Math.min(i + 2, 3) : 3));
  }
  for (const { source } of own) source.abandon();
  assert.equal(new Set(Array.from({ length: 3 }, () => sources.source().next(false).sequence?.id)).size, 3);
});

test('few texts of refusals are kept, and all are counted', () => {
  const [all, part] = [new Tally(), new Tally()];
  for (let i = 0; i < 1000; i++) part.refuse(`request ${i} ${'x'.repeat(i)}`);
  all.merge(part);
  all.merge(part);
  assert.deepEqual([all.refusals, all.refused.get('other texts'), all.refused.size], [2000, 1984, 9]);
});

test('text from outside is valid XML', () => {
  assert.equal(
    escape('a<b>\u0000\u001b&"\ud800\uffff\u{1f600}'),
    'a&lt;b&gt;\ufffd\ufffd&amp;&quot;\ufffd\ufffd\u{1f600}',
  );
});

test('sequences of given data have its lengths; one that is open ends when it must', () => {
  const sources = new StepSources(
    [stream(0, 4), stream(4, 2)],
    { length: undefined, variation: 20, firstId: 1, lastId: 9 },
    randomOf(1),
  );
  const [a, b] = [sources.source(), sources.source()];
  const places = (source: typeof a, count: number): string[] =>
    Array.from({ length: count }, () => {
      const { step, sequence } = source.next(false);
      return `${step.index}${sequence?.start === true ? 's' : ''}${sequence?.end === true ? 'e' : ''}`;
    });
  assert.deepEqual(places(a, 4), ['0s', '1', '2', '3e']);
  assert.deepEqual(places(b, 2), ['4s', '5e']);
  assert.deepEqual(places(a, 1), ['0s']);
  const { step, sequence } = a.next(true);
  assert.deepEqual([step.index, sequence?.start, sequence?.end, a.open], [1, false, true, false]);
});

test('requests without sequences take all steps in turn', () => {
  const sources = new StepSources([stream(0, 2), stream(2, 1)], undefined, randomOf(1));
  const [a, b] = [sources.source(), sources.source()];
  const taken = [a, b, a, b].map((source) => source.next(false));
  assert.deepEqual(
    taken.map(({ step }) => step.index),
    [0, 1, 2, 0],
  );
  assert.ok(taken.every(({ sequence }) => sequence === undefined));
});

test('a range is measured up to its end or the threshold; a binary search halves it', async () => {
  const measured: number[] = [];
  const upTo = (most: number) => (value: number) => {
    measured.push(value);
    return Promise.resolve({ aboveThreshold: value > most } as Level);
  };
  await searchLinearly({ start: 1, end: 7, step: 3 }, upTo(Infinity));
  assert.deepEqual(measured.splice(0), [1, 4, 7]);
  await searchLinearly({ start: 0.1, end: 0.3, step: 0.1 }, upTo(Infinity));
  assert.equal(measured.splice(0).length, 3);
  await searchLinearly({ start: 1, end: Infinity, step: 1 }, upTo(2));
  assert.deepEqual(measured.splice(0), [1, 2, 3]);
  await searchBinary({ start: 1, end: 64, step: 1 }, upTo(23));
  assert.equal(Math.max(...measured.filter((value) => value <= 23)), 23);
  assert.equal(Math.min(...measured.filter((value) => value > 23)), 24);
  assert.ok(measured.length <= 9, String(measured.splice(0)));
});

test("the server's side is the difference of two statistics, by model", () => {
  const statistics = (version: string, count: number): StatisticsOfVersion => {
    const duration = { count, ns: count * 1000 };
    const names = [
      'success',
      'fail',
      'queue',
      'compute_input',
      'compute_infer',
      'compute_output',
      'cache_hit',
      'cache_miss',
    ];
    return {
      name: 'm',
      version,
      inference_count: 2 * count,
      execution_count: count,
      inference_stats: Object.fromEntries(
        names.map((name) => [name, duration]),
      ) as StatisticsOfVersion['inference_stats'],
      batch_stats: [
        { batch_size: 2, compute_input: duration, compute_infer: duration, compute_output: duration },
      ],
    };
  };
  const before = new Map([['m', [statistics('1', 100), statistics('2', 50)]]]);
  const after = new Map([['m', [statistics('1', 130), statistics('3', 5)]]]);
  const side = between(before, after).get('m');
  assert.ok(side);
  assert.deepEqual([side.inferences, side.executions, [...side.batches]], [70, 35, [[2, 35]]]);
  assert.equal(side.meanUs('queue'), 1);
});
