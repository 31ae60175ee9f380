/** The application's own metrics. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Metric, MetricOptions } from '../../src/index.js';
import { CustomMetrics } from '../../src/metrics/custom.js';
import { Exposition } from '../../src/metrics/exposition.js';
import { atOnce } from '../../src/slices.js';
import { thrown } from '../support/harness.js';

function text(metrics: CustomMetrics): string {
  const exposition = new Exposition();
  atOnce(metrics.addTo(exposition));
  return atOnce(exposition.text());
}

const counter = { name: 'orders_total', help: 'Orders', type: 'counter' } as const;

test('counters, gauges and histograms are shown', () => {
  const metrics = new CustomMetrics();
  const north = metrics.metric({ ...counter, labels: { shop: 'north' } });
  north.increment();
  north.increment(2.5);
  metrics.metric({ ...counter, labels: { shop: 'south' } });
  const depth = metrics.metric({ name: 'depth', help: 'How deep', type: 'gauge' });
  depth.set(7);
  depth.increment(-2);
  const sizes = metrics.metric({ name: 'sizes', help: 'Sizes', type: 'histogram', buckets: [1, 10] });
  for (const size of [0.5, 1, 1.5, 11]) sizes.observe(size);
  assert.equal(
    text(metrics),
    [
      '# HELP orders_total Orders',
      '# TYPE orders_total counter',
      'orders_total{shop="north"} 3.5',
      'orders_total{shop="south"} 0',
      '# HELP depth How deep',
      '# TYPE depth gauge',
      'depth 5',
      '# HELP sizes Sizes',
      '# TYPE sizes histogram',
      'sizes_bucket{le="1"} 2',
      'sizes_bucket{le="10"} 3',
      'sizes_bucket{le="+Inf"} 4',
      'sizes_count 4',
      'sizes_sum 14',
      '',
    ].join('\n'),
  );
});

test('whoever asks again gets the same', () => {
  const metrics = new CustomMetrics();
  const labels = { a: '1', b: '2' };
  assert.equal(
    metrics.metric({ ...counter, labels }),
    metrics.metric({ ...counter, labels: { b: '2', a: '1' } }),
  );
});

void suite('what is not to be had is refused', () => {
  const cases: readonly (readonly [Readonly<Record<string, unknown>>, RegExp])[] = [
    [{ name: '' }, /a metric's name, of letters/],
    [{ name: '1st' }, /with no digit first, for options\.name but received '1st'/],
    [{ name: 'a-b' }, /received 'a-b'/],
    [{ name: 'nv_inference_count' }, /the prefixes nv_ and tritonts_ are reserved for the server/],
    [{ help: '' }, /a text for options\.help of metric 'orders_total'/],
    [{ type: 'summary' }, /'counter', 'gauge' or 'histogram' for options\.type of metric 'orders_total'/],
    [{ labels: { 'a-b': 'x' } }, /names of labels of letters.* but received 'a-b'/],
    [{ labels: { __a: 'x' } }, /but received '__a'/],
    [
      { labels: { a: 1 } },
      /a string for label 'a' in options\.labels of metric 'orders_total' but received 1/,
    ],
    [{ labels: ['a'] }, /an object for options\.labels/],
    [{ labels: { a: 'x\ud800' } }, /a string without lone surrogates for label 'a' in options\.labels/],
    [{ type: 'histogram', labels: { le: '1' } }, /other than 'le'/],
    [{ type: 'histogram', buckets: [2, 1] }, /each above the one before, for options\.buckets/],
    [{ type: 'histogram', buckets: [] }, /options\.buckets/],
    [{ type: 'histogram', buckets: [1, NaN] }, /options\.buckets/],
    [{ type: 'histogram', buckets: Object.assign([1, 2], { 4: 3 }) }, /options\.buckets/],
    [{ buckets: [1] }, /is a counter: only a histogram has buckets/],
    [{ lables: {} }, /unknown key 'lables' in metric options \(did you mean labels\?\)/],
  ];
  for (const [change, message] of cases) {
    test(JSON.stringify(change), () => {
      // As a program in JavaScript may.
      const options = { ...counter, ...change } as unknown as MetricOptions;
      const error = thrown(() => new CustomMetrics().metric(options));
      assert.equal(error.code, 'INVALID_ARG');
      assert.match(error.message, message);
    });
  }
});

void suite('a name stands for one family', () => {
  const cases: readonly (readonly [Partial<MetricOptions>, RegExp])[] = [
    [{ type: 'gauge' }, /'orders_total' has type counter, not gauge/],
    [{ help: 'Other' }, /has help 'Orders', not 'Other'/],
    [{ labels: {} }, /has labels shop, not \(none\)/],
    [{ labels: { shop: 'a', day: 'b' } }, /has labels shop, not day, shop/],
  ];
  for (const [change, message] of cases) {
    test(JSON.stringify(change), () => {
      const metrics = new CustomMetrics();
      metrics.metric({ ...counter, labels: { shop: 'north' } });
      const error = thrown(() => metrics.metric({ ...counter, labels: { shop: 'north' }, ...change }));
      assert.equal(error.code, 'ALREADY_EXISTS');
      assert.match(error.message, message);
    });
  }

  test('of which a histogram has three more', () => {
    const metrics = new CustomMetrics();
    metrics.metric({ name: 'a', help: 'A', type: 'histogram' });
    metrics.metric({ name: 'b_sum', help: 'B', type: 'gauge' });
    for (const options of [
      { name: 'a_count', help: 'A', type: 'gauge' },
      { name: 'b', help: 'B', type: 'histogram' },
    ] as const) {
      assert.equal(thrown(() => metrics.metric(options)).code, 'ALREADY_EXISTS');
    }
  });
});

test('a metric does what its type can', () => {
  const metrics = new CustomMetrics();
  const counted = metrics.metric(counter);
  const depth = metrics.metric({ name: 'depth', help: 'D', type: 'gauge' });
  const sizes = metrics.metric({ name: 'sizes', help: 'S', type: 'histogram' });
  const refused = (metric: Metric, what: keyof Metric, value: number, code: string): void => {
    const error = thrown(() => {
      metric[what](value);
    });
    assert.equal(error.code, code);
  };
  refused(counted, 'set', 1, 'UNSUPPORTED');
  refused(counted, 'observe', 1, 'UNSUPPORTED');
  refused(depth, 'observe', 1, 'UNSUPPORTED');
  refused(sizes, 'increment', 1, 'UNSUPPORTED');
  refused(sizes, 'set', 1, 'UNSUPPORTED');
  refused(counted, 'increment', -1, 'INVALID_ARG');
  refused(depth, 'set', NaN, 'INVALID_ARG');
  refused(sizes, 'observe', Infinity, 'INVALID_ARG');
});

test('methods work without their metric', () => {
  const metrics = new CustomMetrics();
  const { increment } = metrics.metric(counter);
  increment();
  assert.match(text(metrics), /^orders_total 1$/m);
  assert.equal(
    thrown(() => {
      increment(-1);
    }).code,
    'INVALID_ARG',
  );
  const { set } = metrics.metric({ name: 'depth', help: 'How deep', type: 'gauge' });
  set(3);
  const { observe } = metrics.metric({ name: 'sizes', help: 'Sizes', type: 'histogram', buckets: [1] });
  observe(0.5);
  assert.match(text(metrics), /^depth 3$/m);
  assert.match(text(metrics), /^sizes_count 1$/m);
});
