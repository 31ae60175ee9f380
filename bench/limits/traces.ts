/** Measures traces: what tracing costs the requests of a tiny model. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from '../../src/index.js';
import { addModel } from '../../test/support/models.js';
import { measureInTurn, type Rounds } from '../measuring/turns.js';
import { estimate } from '../reports/statistics.js';
import type { Measured } from './limits.js';

/** How long one is measured at a time, in milliseconds. */
const windowMs = 400;
/** The pause before each turn, in milliseconds. */
const restMs = 300;
/** Requests of a tick. */
const together = 64;
const width = 16;

/** Measures all in turn, in each round. */
export async function measureTraces(rounds: number): Promise<Measured[]> {
  const folder = await mkdtemp(join(tmpdir(), 'tritonts-traces-'));
  const server = await createServer({
    models: {
      tiny: {
        config: {
          backend: 'onnxruntime',
          input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [width] }],
          output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [width] }],
          instance_group: [{ kind: 'KIND_CPU' }],
          dynamic_batching: {},
          max_batch_size: together,
        },
        files: { 'model.onnx': addModel({ width }) },
      },
    },
    traceConfig: { level: 'OFF', file: join(folder, 'traces') },
  });
  const model = server.model('tiny');
  const inputs = Array.from({ length: together }, (_, i) => new Float32Array(width).fill(i));
  /** Calls the model for a while. Returns the microseconds of a request. */
  const requestTime = async (count: number): Promise<number> => {
    const start = performance.now();
    let calls = 0;
    let now = start;
    while (now < start + windowMs) {
      for (let i = 0; i < 4; i++) {
        await Promise.all(inputs.slice(0, count).map((x) => model.infer({ x })));
      }
      calls += 4 * count;
      now = performance.now();
    }
    return ((now - start) * 1000) / calls;
  };
  const traced = async (rate: number | undefined, count: number): Promise<number> => {
    server.trace.update(rate === undefined ? { level: 'OFF' } : { level: 'TIMESTAMPS', rate });
    // What is left to write of the turn before does not count.
    await new Promise((resolve) => setTimeout(resolve, restMs));
    return await requestTime(count);
  };
  const figures = {
    off: () => traced(undefined, together),
    each: () => traced(1, together),
    few: () => traced(1000, together),
    offAlone: () => traced(undefined, 1),
    eachAlone: () => traced(1, 1),
  };
  let measured: Rounds<keyof typeof figures>;
  try {
    measured = await measureInTurn(figures, rounds);
  } finally {
    await server.close();
    await rm(folder, { recursive: true });
  }
  return [
    {
      what: `a tiny model of which each request is traced, ${together} a tick`,
      value: estimate(measured.ratios('off', 'each')),
      unit: 'x',
      limit: { atLeast: 0.5 },
      detail: 'its rate without traces',
    },
    {
      what: 'the same, alone',
      value: estimate(measured.ratios('offAlone', 'eachAlone')),
      unit: 'x',
      detail: 'its rate without traces',
    },
    {
      what: `a tiny model of which one in a thousand is traced, ${together} a tick`,
      value: estimate(measured.ratios('off', 'few')),
      unit: 'x',
      limit: { atLeast: 0.98 },
      detail: 'its rate without traces',
    },
  ];
}
