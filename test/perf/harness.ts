/** Runs measurements in the test's process. */

import { runPerf, type PerfOptions, type PerfRun, type RunProgress } from '../../src/perf/run.js';
import type { RepositoryModel } from '../support/repository.js';

/** Options of a short measurement: three windows of 250 ms, which are always stable. */
export function perfOptions(
  place: PerfOptions['place'],
  model: string,
  options: Partial<PerfOptions> = {},
  plan: Partial<PerfOptions['plan']> = {},
): PerfOptions {
  return {
    place,
    model,
    version: undefined,
    headers: {},
    parameters: {},
    composing: [],
    load: { mode: 'concurrency', range: { start: 4, end: 4, step: 1 }, search: 'linear' },
    sequences: { length: undefined, variation: 20, firstId: 1, lastId: 2 ** 53 - 1, atOnce: 4 },
    streaming: false,
    batch: 1,
    shapes: new Map(),
    inputData: [],
    stringLength: 16,
    stringData: undefined,
    seed: 1,
    ...options,
    plan: {
      mode: 'time',
      intervalMs: 250,
      requests: 50,
      trials: 3,
      stabilityPercentage: 1e9,
      percentile: undefined,
      latencyThresholdMs: 0,
      requestCount: 0,
      warmup: 0,
      ...plan,
    },
  };
}

/** Progress that nobody watches. */
export const silent: RunProgress = {
  opened: () => undefined,
  running: () => undefined,
  window: () => undefined,
  level: () => undefined,
  note: () => undefined,
};

/** Runs a measurement to its end. */
export function measured(options: PerfOptions): Promise<PerfRun> {
  return runPerf(options, silent, new AbortController().signal);
}

/** A decoupled model that counts from 0 to its input. */
export const counting: RepositoryModel = {
  config: `
backend: "javascript"
model_transaction_policy { decoupled: true }
input [ { name: "n" data_type: TYPE_INT32 dims: [ 1 ] } ]
output [ { name: "y" data_type: TYPE_INT32 dims: [ 1 ] } ]
`,
  versions: {
    '1': {
      'model.js': `
export default {
  execute: (requests) => requests.map(async function* ({ inputs }) {
    const [n] = inputs.n.data;
    for (let i = 0; i < n; i++) yield { y: Int32Array.of(i) };
  }),
};
`,
    },
  },
};
