import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { resolveMetrics } from '../../src/metrics/metrics-config.js';
import { thrown } from '../support/harness.js';

test('the defaults are those of Triton', () => {
  assert.deepEqual(resolveMetrics({}), {
    counterLatencies: true,
    histogramLatencies: false,
    summaryLatencies: false,
    quantiles: [0.5, 0.9, 0.95, 0.99, 0.999],
    windowBits: 0,
    gpus: true,
    intervalMs: 2000,
  });
});

test('the smallest error chooses the precision', () => {
  const bits = (...errors: number[]): number =>
    resolveMetrics({
      summaryLatencies: true,
      summaryQuantiles: errors.map((error, i) => [(i + 1) / 10, error]),
    }).windowBits;
  assert.deepEqual([bits(0.05), bits(0.01), bits(0.05, 0.001), bits(1e-6)], [4, 4, 7, 9]);
});

void suite('a wrong metricsConfig is refused', () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [true, /an object for options\.metricsConfig but received true/],
    [
      { summaryLatency: true },
      /unknown key 'summaryLatency' in options\.metricsConfig \(did you mean summaryLatencies\?\)/,
    ],
    [{ counterLatencies: 1 }, /true or false for options\.metricsConfig\.counterLatencies but received 1/],
    [{ intervalMs: 0 }, /at least 1 for options\.metricsConfig\.intervalMs but received 0/],
    [{ summaryQuantiles: [[0.5, 0.1]] }, /summaryQuantiles needs summaryLatencies: true/],
    [
      { summaryLatencies: true, summaryQuantiles: [] },
      /an array of pairs for .*summaryQuantiles but received an array/,
    ],
    [{ summaryLatencies: true, summaryQuantiles: [[0.5]] }, /summaryQuantiles\[0\] but received an array/],
    [
      {
        summaryLatencies: true,
        summaryQuantiles: [
          [0.5, 0.1],
          [1, 0.1],
        ],
      },
      /summaryQuantiles\[1\] but received '\[1, 0\.1\]'/,
    ],
    [
      {
        summaryLatencies: true,
        summaryQuantiles: [
          [0.5, 0.1],
          [0.5, 0.2],
        ],
      },
      /each quantile once .* received 0\.5 twice/,
    ],
  ];
  for (const [given, message] of cases) {
    test(JSON.stringify(given), () => {
      const error = thrown(() => resolveMetrics(given));
      assert.equal(error.code, 'INVALID_ARG');
      assert.match(error.message, message);
    });
  }
});
