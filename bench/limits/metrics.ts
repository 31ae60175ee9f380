/**
 * Measures the cost of metrics: a tiny model on a server with all metrics on, compared with a server with all off.
 */
import { createServer, type InferenceServer, type MetricsConfig } from '../../src/index.js';
import { addModel } from '../../test/support/models.js';
import { writeRepository } from '../../test/support/repository.js';
import type { Measured } from './limits.js';
import { allMetrics } from '../measuring/request-cost.js';
import { estimate } from '../reports/statistics.js';
import { ratioByTurns, turnMs } from '../measuring/turns.js';

/** Requests outstanding. */
const loads: readonly number[] = [1, 64, 512];
/** The least ratio of the rates, with 512 requests outstanding. */
const atLeast = 0.97;

const model = 'counted';
const repository = {
  [model]: {
    config: `backend: "onnxruntime" max_batch_size: 512 dynamic_batching { }
input [ { name: "x" data_type: TYPE_FP32 dims: [ 16 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 16 ] } ]
instance_group [ { kind: KIND_CPU } ]`,
    versions: { '1': addModel() },
  },
};

const off: MetricsConfig = { counterLatencies: false };

/** Requests per second, with `callers` callers that each await one answer after another. */
async function rateOf(server: InferenceServer, callers: number): Promise<number> {
  const asked = server.model(model);
  let answered = 0;
  const start = performance.now();
  const end = start + turnMs;
  const call = async (caller: number): Promise<void> => {
    const x = new Float32Array(16).fill(caller);
    while (performance.now() < end) {
      for (let i = 0; i < 16; i++) await asked.infer({ x });
      answered += 16;
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  return (answered * 1000) / (performance.now() - start);
}

/**
 * Measures both servers in each round.
 *
 * @param folder - Where the model may be written.
 */
export async function measureMetrics(folder: string, rounds: number): Promise<Measured[]> {
  await writeRepository(folder, repository);
  const options = { modelControlMode: 'explicit', loadModels: [model] } as const;
  const plain = await createServer(folder, { ...options, metricsConfig: off });
  const full = await createServer(folder, { ...options, metricsConfig: allMetrics });
  try {
    const measured: Measured[] = [];
    for (const callers of loads) {
      const ratios: number[] = [];
      // Round -1 is a warm-up, and is not kept.
      for (let round = -1; round < rounds; round++) {
        const ratio = await ratioByTurns(
          () => rateOf(full, callers),
          () => rateOf(plain, callers),
        );
        if (round >= 0) ratios.push(ratio);
      }
      measured.push({
        what: `all metrics, ${callers} outstanding`,
        value: estimate(ratios),
        unit: 'x',
        ...(callers === 512 ? { limit: { atLeast } } : {}),
        detail: 'of the requests/s of a server without histograms and summaries',
      });
    }
    return measured;
  } finally {
    await plain.close();
    await full.close();
  }
}
