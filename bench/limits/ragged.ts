/** Measures ragged batches: texts of unequal length as they are, against the same texts padded to one length. */
import { createServer, type InferenceServer, type ModelConfigInput } from '../../src/index.js';
import {
  paddedTextsModel,
  raggedTextsModel,
  tokensOf,
  unequalLengths,
  type TextsOptions,
} from '../../test/support/models.js';
import { estimate } from '../reports/statistics.js';
import type { Measured } from './limits.js';

/** How long a model is measured at a time, in milliseconds. */
const windowMs = 500;

/** A load of texts. */
export interface TextsLoad {
  /** Requests outstanding. */
  readonly outstanding: number;
  readonly maxBatchSize: number;
  readonly sizes: Required<TextsOptions>;
  readonly lengths: readonly number[];
}

/** The measured load. */
export const textsLoad: TextsLoad = {
  outstanding: 64,
  maxBatchSize: 32,
  sizes: { layers: 4, width: 256, heads: 4, vocabulary: 4096, maxTokens: 128 },
  lengths: unequalLengths(64),
};

/** The ways to send texts. */
export const ways = ['ragged', 'padded', 'apart'] as const;
/** `apart`: each text has its own length, and only texts of one length run together. */
export type Way = (typeof ways)[number];

function config(way: Way, { maxBatchSize, sizes }: TextsLoad): ModelConfigInput {
  const dims = way === 'padded' ? [sizes.maxTokens] : [-1];
  const isRagged = way === 'ragged';
  return {
    backend: 'onnxruntime',
    max_batch_size: maxBatchSize,
    input: [{ name: 'input_ids', data_type: 'TYPE_INT64', dims, allow_ragged_batch: isRagged }],
    output: [{ name: 'embedding', data_type: 'TYPE_FP32', dims: [sizes.width] }],
    ...(isRagged && {
      batch_input: [
        {
          kind: 'BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO',
          target_name: ['offsets'],
          data_type: 'TYPE_INT32',
          source_input: ['input_ids'],
        },
      ],
    }),
    dynamic_batching: {},
    instance_group: [{ kind: 'KIND_CPU' }],
  };
}

/** A server of the same model for each way. */
export function serveTexts(load: TextsLoad): Promise<InferenceServer> {
  const padded = { 'model.onnx': paddedTextsModel(load.sizes) };
  const files = { ragged: { 'model.onnx': raggedTextsModel(load.sizes) }, padded, apart: padded };
  return createServer({
    models: Object.fromEntries(ways.map((way) => [way, { config: config(way, load), files: files[way] }])),
  });
}

/** The load's texts as a way sends them. */
export function textsOf(way: Way, { lengths, sizes }: TextsLoad): readonly BigInt64Array<ArrayBuffer>[] {
  return lengths.map((length) => {
    const text = tokensOf(length, sizes.vocabulary);
    if (way !== 'padded') return text;
    const padded = new BigInt64Array(sizes.maxTokens);
    padded.set(text);
    return padded;
  });
}

/** What a way achieved. */
export interface Achieved {
  readonly perSecond: number;
  readonly meanBatch: number;
}

/** Keeps all requests of a load outstanding for a while. */
export async function runTexts(
  server: InferenceServer,
  way: Way,
  load: TextsLoad,
  forMs: number = windowMs,
): Promise<Achieved> {
  const model = server.model(way);
  const texts = textsOf(way, load);
  const before = model.statistics();
  let next = 0;
  let answered = 0;
  const start = performance.now();
  const call = async (): Promise<void> => {
    while (performance.now() < start + forMs) {
      const input_ids = texts[next++ % texts.length];
      if (input_ids === undefined) throw new Error('the load has no texts');
      await model.infer({ input_ids });
      answered++;
    }
  };
  await Promise.all(Array.from({ length: load.outstanding }, call));
  const perSecond = (answered * 1000) / (performance.now() - start);
  const after = model.statistics();
  const batches = after.execution_count - before.execution_count;
  return { perSecond, meanBatch: (after.inference_count - before.inference_count) / batches };
}

/** Measures the three ways in turn, in each round in another order. */
export async function measureRagged(rounds: number): Promise<Measured[]> {
  const load = textsLoad;
  const server = await serveTexts(load);
  try {
    for (const way of ways) await runTexts(server, way, load);
    const overPadded: number[] = [];
    const overApart: number[] = [];
    const perSecond: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const rates = new Map<Way, number>();
      for (let i = 0; i < ways.length; i++) {
        const way = ways[(i + round) % ways.length] ?? 'ragged';
        rates.set(way, (await runTexts(server, way, load)).perSecond);
      }
      const { ragged = NaN, padded = NaN, apart = NaN } = Object.fromEntries(rates);
      perSecond.push(ragged);
      overPadded.push(ragged / padded);
      overApart.push(ragged / apart);
    }
    const { lengths, sizes, outstanding } = load;
    const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
    const what = `texts of ${Math.min(...lengths)} to ${Math.max(...lengths)} tokens, mean ${mean.toFixed(0)}, ${outstanding} outstanding`;
    return [
      { what: `${what}: ragged batches`, value: estimate(perSecond), unit: '/s' },
      {
        what: `${what}: requests/s of ragged batches`,
        value: estimate(overPadded),
        unit: 'x',
        limit: { atLeast: 1.8 },
        detail: `of texts padded to ${sizes.maxTokens}`,
      },
      {
        what: `${what}: requests/s of ragged batches`,
        value: estimate(overApart),
        unit: 'x',
        detail: 'of texts that run together only if they have one length',
      },
    ];
  } finally {
    await server.close();
  }
}
