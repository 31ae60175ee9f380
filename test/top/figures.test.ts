/** Figures of two readings. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readExposition } from '../../src/top/figures/exposition-reader.js';
import { metricFigures } from '../../src/top/figures/metric-figures.js';
import { bucketsBetween, quantileOf } from '../../src/top/figures/quantiles.js';
import { figuresBetween, momentOf, type TopFigures } from '../../src/top/figures/top-figures.js';
import type { ModelFigures } from '../../src/top/figures/model-figures.js';
import type { ModelStatus } from '../../src/api/metadata.js';
import type { Reading, VersionStatistics } from '../../src/top/reading.js';
import { wholeIndex, wholeStatistics } from '../../src/top/sources/whole-entries.js';
import { statisticsOf } from './statistics.js';

function reading(atMs: number, changes: Partial<Reading> = {}): Reading {
  return {
    atMs,
    server: { name: 'triton', version: '2' },
    ready: true,
    index: [{ name: 'm', version: '1', state: 'READY' }],
    statistics: [],
    metrics: undefined,
    instances: new Map(),
    ...changes,
  };
}

function between(before: Reading | undefined, after: Reading): TopFigures {
  return figuresBetween(before && momentOf(before), momentOf(after));
}

function only({ models }: TopFigures): ModelFigures {
  const [first, ...others] = models;
  assert.ok(first !== undefined && others.length === 0);
  return first;
}

/** The exposition of a histogram in microseconds, with the counts of its buckets. */
function histogram(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(
      ([le, count]) => `nv_inference_request_duration_us_bucket{model="m",version="1",le="${le}"} ${count}\n`,
    )
    .join('');
}

test('quantiles are those of histogram_quantile', () => {
  // The example of Prometheus' documentation of bucket interpolation: 90 of 100 values below 0.2, ten up to 0.3.
  const buckets = new Map([
    [0.1, 50],
    [0.2, 90],
    [0.3, 100],
    [Infinity, 100],
  ]);
  assert.equal(quantileOf(buckets, 0.5), 0.1);
  assert.equal(quantileOf(buckets, 0.25), 0.05);
  assert.ok(Math.abs((quantileOf(buckets, 0.95) ?? 0) - 0.25) < 1e-12);
  assert.equal(quantileOf(new Map([[Infinity, 0]]), 0.5), undefined);
  assert.equal(
    quantileOf(
      new Map([
        [1, 1],
        [Infinity, 10],
      ]),
      0.5,
    ),
    Infinity,
  );
  assert.deepEqual(bucketsBetween(new Map([[1, 2]]), new Map([[1, 5]])), new Map([[1, 3]]));
  assert.equal(bucketsBetween(new Map([[1, 5]]), new Map([[1, 2]])), undefined);
});

test("Prometheus' text is read with escapes, braces and values that are not finite", () => {
  const wanted = new Set(['a', 'b']);
  const text = [
    '# HELP a text {x="1"} 3',
    'a{model="x\\"} 7",note="line\\nbreak \\\\"} 1.5e3 1700000000000',
    'b +Inf',
    'b{} NaN',
    'c 4',
    'not a sample',
    'a{model=} ',
  ].join('\n');
  const samples = readExposition(text, wanted).map(({ name, labels, value }) => [name, { ...labels }, value]);
  assert.deepEqual(samples, [
    ['a', { model: 'x"} 7', note: 'line\nbreak \\' }, 1500],
    ['b', {}, Infinity],
    ['b', {}, NaN],
  ]);
});

test('metrics of GPUs are added up for versions, and told of each GPU', () => {
  const { versions, gpus, machine } = metricFigures(
    `nv_inference_pending_request_count{model="m",version="1"} 3
nv_inference_request_duration_us_bucket{model="m",version="1",le="10"} 2
nv_inference_request_duration_us_bucket{gpu_uuid="GPU-a",model="m",version="1",le="10"} 3
nv_inference_request_summary_us{model="m",version="1",quantile="0.5"} 7
nv_inference_request_summary_us{gpu_uuid="GPU-a",model="m",version="1",quantile="0.5"} 9
nv_inference_request_summary_us{model="m",version="1",quantile="0.99"} Nan
nv_gpu_utilization{gpu_uuid="GPU-a"} 0.25
nv_gpu_memory_used_bytes{gpu_uuid="GPU-a"} 1024
nv_gpu_power_usage{gpu_uuid="GPU-b"} 70.5
nv_cpu_utilization 0.5
`,
  );
  const version = versions.get('1/m');
  assert.equal(version?.pending, 3);
  assert.deepEqual(version.buckets, new Map([[10, 5]]));
  assert.deepEqual(version.summary, new Map([[0.5, 9]]));
  assert.deepEqual(gpus, [
    { uuid: 'GPU-a', utilization: 0.25, memoryUsedBytes: 1024 },
    { uuid: 'GPU-b', powerWatts: 70.5 },
  ]);
  assert.deepEqual(machine, { cpuUtilization: 0.5 });
});

test('rates and means are of the time between two readings', () => {
  const before = reading(1000, {
    statistics: [
      statisticsOf({ success: 10, successNs: 10e6, fail: 1, rows: 20, runs: 5, batches: { 4: 5 } }),
    ],
    metrics: histogram({ '1000': 10, '2500': 10, '+Inf': 10 }),
  });
  const after = reading(3000, {
    statistics: [
      statisticsOf({
        success: 30,
        successNs: 50e6,
        fail: 5,
        rows: 100,
        runs: 15,
        batches: { 4: 5, 8: 10 },
        cacheHits: 3,
        cacheMisses: 1,
        memory: [100, 28],
      }),
    ],
    metrics: `${histogram({ '1000': 20, '2500': 30, '+Inf': 30 })}tritonts_inference_request_refused{model="m",version="1"} 4\n`,
    instances: new Map([['1/m', 2]]),
  });
  const first = only(between(undefined, before));
  assert.deepEqual(
    [first.requestsPerS, first.failuresPerS, first.latency.p50Ms, first.latency.meanMs],
    [undefined, undefined, undefined, undefined],
  );
  const figures = only(between(before, after));
  assert.deepEqual(
    [figures.requestsPerS, figures.failuresPerS, figures.rowsPerS, figures.batchRows, figures.instances],
    [10, 2, 40, 8, 2],
  );
  assert.deepEqual(figures.latency, {
    source: 'histogram',
    meanMs: 2,
    p50Ms: 1,
    p95Ms: 2.35,
    p99Ms: 2.47,
  });
  assert.deepEqual(figures.batches, new Map([[8, 10]]));
  assert.deepEqual([figures.cacheHits, figures.memoryBytes, figures.restarted], [0.75, 128, false]);
});

test('counters that begin anew give no rate below 0', () => {
  const before = reading(0, {
    statistics: [statisticsOf({ success: 100, successNs: 1e9, rows: 100, runs: 100 })],
    metrics: histogram({ '1000': 100, '+Inf': 100 }),
  });
  const after = reading(2000, {
    statistics: [statisticsOf({ success: 4, successNs: 8e6, rows: 4, runs: 4 })],
    metrics: histogram({ '1000': 4, '+Inf': 4 }),
  });
  const figures = only(between(before, after));
  assert.deepEqual(
    [figures.restarted, figures.requestsPerS, figures.latency.meanMs, figures.latency.p50Ms],
    [true, 2, 2, 0.5],
  );
});

test('a version that was loaded meanwhile counts from 0, and one that is gone leaves its state', () => {
  const before = reading(0, { index: [], metrics: 'nv_cpu_utilization 0\n' });
  const after = reading(1000, {
    index: [
      { name: 'm', version: '1', state: 'READY' },
      { name: 'gone', version: '3', state: 'UNAVAILABLE', reason: 'unloaded' },
      { name: 'never' },
    ],
    statistics: [statisticsOf({ success: 5, successNs: 5e6, rows: 5, runs: 5 })],
    metrics: histogram({ '1000': 5, '+Inf': 5 }),
  });
  const [m, gone, never] = between(before, after).models;
  assert.deepEqual([m?.requestsPerS, m?.latency.p50Ms], [5, 0.5]);
  assert.deepEqual([gone?.state, gone?.reason, gone?.requestsPerS], ['UNAVAILABLE', 'unloaded', undefined]);
  assert.deepEqual([never?.version, never?.state], [undefined, undefined]);
});

test('without metrics, and without an index, the statistics remain', () => {
  const before = reading(0, { index: undefined, statistics: [statisticsOf({})], withoutMetrics: 'refused' });
  const after = reading(1000, {
    index: undefined,
    statistics: [statisticsOf({ success: 2, successNs: 6e6, rows: 2, runs: 2 })],
    withoutMetrics: 'refused',
  });
  const all = between(before, after);
  const figures = only(all);
  assert.equal(all.withoutMetrics, 'refused');
  assert.deepEqual(
    [figures.state, figures.requestsPerS, figures.latency.source, figures.latency.meanMs],
    [undefined, 2, 'none', 3],
  );
});

test('a long line of labels without values is read in linear time', () => {
  const begun = performance.now();
  const text = `nv_cache_util{${'a'.repeat(300_000)}} 1\n`;
  assert.deepEqual(
    readExposition(text, new Set(['nv_cache_util'])).map(({ value }) => value),
    [1],
  );
  // It took more than 20 s when each letter was tried as a begin.
  assert.ok(performance.now() - begun < 10_000);
});

test('entries of another form are left out', () => {
  const good: unknown[] = [{ name: 'm', version: '1', state: 'READY' }, { name: 'n' }];
  const bad: unknown[] = [null, 3, 'm', {}, { name: 3 }, { name: 'm', state: 3 }, { name: 'm', version: 1 }];
  assert.deepEqual(wholeIndex([...good, ...bad] as ModelStatus[]), good);
  assert.equal(wholeIndex({} as ModelStatus[]), undefined);
  const statistics = statisticsOf({});
  const memory = { type: 'CPU', id: 0, byte_size: 3 };
  const [first, ...others] = wholeStatistics([
    { ...statistics, memory_usage: [memory, { ...memory, byte_size: 'x' }, null] },
    ...[null, 3, {}],
  ] as unknown as VersionStatistics[]);
  assert.deepEqual(first?.memory_usage, [memory]);
  assert.deepEqual(others, []);
});
