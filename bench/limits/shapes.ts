/** Measures the gain of batches across shapes: texts of two alternating lengths, against texts of one length. */
import { createServer, type InferenceServer, type ModelConfigInput } from '../../src/index.js';
import { textEncoderModel } from '../../test/support/models.js';
import type { Measured } from './limits.js';
import { estimate } from '../reports/statistics.js';

/** Requests outstanding. */
const outstanding = 64;
/** How long a model is measured at a time, in milliseconds: about ten batches. */
const windowMs = 500;
const lengths = [8, 9] as const;
/** The vocabulary of the text encoder. */
const vocabulary = 4096;

function config(across: boolean): ModelConfigInput {
  return {
    backend: 'onnxruntime',
    max_batch_size: 32,
    input: [{ name: 'input_ids', data_type: 'TYPE_INT64', dims: [-1] }],
    output: [{ name: 'embedding', data_type: 'TYPE_FP32', dims: [384] }],
    dynamic_batching: {},
    instance_group: [{ kind: 'KIND_CPU' }],
    parameters: { batch_across_shapes: { string_value: String(across) } },
  };
}

function text(length: number): BigInt64Array<ArrayBuffer> {
  return BigInt64Array.from({ length }, (_, i) => BigInt((i * 37) % vocabulary));
}

interface Served {
  readonly perSecond: number;
  readonly meanBatch: number;
}

/** Measures a model whose callers send texts of these lengths in turn. */
async function serveTexts(server: InferenceServer, name: string, of: readonly number[]): Promise<Served> {
  const model = server.model(name);
  const before = model.statistics();
  let answered = 0;
  const start = performance.now();
  const call = async (input_ids: BigInt64Array<ArrayBuffer>): Promise<void> => {
    while (performance.now() < start + windowMs) {
      await model.infer({ input_ids });
      answered++;
    }
  };
  await Promise.all(Array.from({ length: outstanding }, (_, i) => call(text(of[i % of.length] ?? 1))));
  const perSecond = (answered * 1000) / (performance.now() - start);
  const after = model.statistics();
  const batches = after.execution_count - before.execution_count;
  return { perSecond, meanBatch: (after.inference_count - before.inference_count) / batches };
}

/** Measures alternating lengths with and without batches across shapes, and each length alone, in each round. */
export async function measureShapes(rounds: number): Promise<Measured[]> {
  const files = { 'model.onnx': textEncoderModel() };
  const server = await createServer({
    models: { across: { config: config(true), files }, apart: { config: config(false), files } },
  });
  try {
    for (const name of ['across', 'apart']) await serveTexts(server, name, lengths);
    const throughput: number[] = [];
    const batches: number[] = [];
    const apart: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const alone = [];
      for (const length of lengths) alone.push(await serveTexts(server, 'across', [length]));
      const mixed = await serveTexts(server, 'across', lengths);
      const closed = await serveTexts(server, 'apart', lengths);
      // The expected time of a request with alternating lengths is the mean of both times.
      const secondsEach = alone.reduce((sum, { perSecond }) => sum + 1 / perSecond, 0) / alone.length;
      const meanBatch = alone.reduce((sum, one) => sum + one.meanBatch, 0) / alone.length;
      throughput.push(mixed.perSecond * secondsEach);
      batches.push(mixed.meanBatch / meanBatch);
      apart.push(closed.perSecond * secondsEach);
    }
    const what = `texts of ${lengths.join(' and ')} tokens in turn, ${outstanding} outstanding`;
    return [
      {
        what: `${what}: requests/s`,
        value: estimate(throughput),
        unit: 'x',
        limit: { atLeast: 0.8 },
        detail: 'of texts of one length',
      },
      {
        what: `${what}: mean batch`,
        value: estimate(batches),
        unit: 'x',
        limit: { atLeast: 0.8 },
        detail: 'of texts of one length',
      },
      {
        what: `${what}, batch_across_shapes off: requests/s`,
        value: estimate(apart),
        unit: 'x',
        detail: 'of texts of one length',
      },
    ];
  } finally {
    await server.close();
  }
}
