/** Runs requests for embeddings, and sends the rows. */

import { TritonError } from '../../errors.js';
import type { InferResult } from '../../api/results.js';
import type { Inputs } from '../../tensor/inputs.js';
import { inSlices, Pace, type Sliced } from '../../slices.js';
import type { Exchange } from '../http/exchange.js';
import type { EmbeddingModel } from './embedding-model.js';
import type { EmbeddingRequest } from './embedding-request.js';
import { UsageCounter } from './usage.js';

/** How many requests of one body are under way at once. */
const mostAtOnce = 32;

/** Runs a request. */
export type Infer = (inputs: Inputs) => Promise<InferResult>;

/** The embeddings of a body, in the order of its inputs. */
interface Embedded {
  readonly rows: readonly Float32Array[];
  readonly usage: object | null;
}

/**
 * Asks the model for all embeddings, with as many inputs in a request as it takes.
 *
 * @throws {@link TritonError} The first error of a request. Others may then be under way.
 */
async function embed(
  { inputs }: EmbeddingRequest,
  model: EmbeddingModel,
  infer: Infer,
  isGone: () => boolean,
): Promise<Embedded> {
  const rows: Float32Array[] = [];
  const { mostInputs } = model;
  const counts: UsageCounter[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < inputs.length && !isGone()) {
      const start = next;
      next += mostInputs;
      const texts = inputs.slice(start, next);
      const result = await infer(model.inputs(texts));
      const counter = new UsageCounter();
      counter.add(result);
      counts.push(counter);
      for (const [i, row] of model.rows(result, texts.length).entries()) rows[start + i] = row;
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(mostAtOnce, model.queueSize) }, work));
  } finally {
    next = inputs.length;
  }
  const tokens = counts.reduce<number | undefined>(
    (sum, { prompt }) => (sum === undefined || prompt === undefined ? undefined : sum + prompt),
    0,
  );
  const usage = tokens === undefined ? null : { prompt_tokens: tokens, total_tokens: tokens };
  return { rows, usage };
}

/** A row as JSON: its numbers with the digits that FP32 has, or its bytes. */
function* rowText(row: Float32Array, base64: boolean, pace: Pace): Sliced<string> {
  if (base64) {
    const wrong = row.find((value) => !Number.isFinite(value));
    if (wrong !== undefined) throw notFinite(wrong);
    if (pace.spent(row.length)) yield;
    return JSON.stringify(Buffer.from(row.buffer, row.byteOffset, row.byteLength).toString('base64'));
  }
  const texts: string[] = [];
  for (const value of row) {
    if (!Number.isFinite(value)) throw notFinite(value);
    texts.push(shortest(value));
    if (pace.spent(16)) yield;
  }
  return `[${texts.join(',')}]`;
}

/** JSON cannot carry it, and the answer is not to depend on the encoding. */
function notFinite(value: number): TritonError {
  return new TritonError('INTERNAL', `the model's embedding has ${value}, which JSON cannot carry`);
}

/** The shortest text that reads as the same FP32. */
function shortest(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(Number(value.toPrecision(9)));
}

function* answerText(model: string, { rows, usage }: Embedded, base64: boolean): Sliced<string> {
  const pace = new Pace();
  const data: string[] = [];
  for (const [index, row] of rows.entries()) {
    const text = yield* rowText(row, base64, pace);
    data.push(`{"object":"embedding","index":${index},"embedding":${text}}`);
  }
  return `{"object":"list","data":[${data.join(',')}],"model":${JSON.stringify(model)},"usage":${JSON.stringify(usage)}}`;
}

/**
 * Answers with the embeddings of all inputs.
 *
 * @throws {@link TritonError} The error of a request, and INTERNAL for values that JSON cannot carry.
 */
export async function sendEmbeddings(
  exchange: Exchange,
  request: EmbeddingRequest,
  model: EmbeddingModel,
  infer: Infer,
): Promise<void> {
  const embedded = await embed(request, model, infer, () => exchange.gone);
  if (exchange.gone) return;
  const text = await new Promise<string>((resolve, reject) => {
    inSlices(answerText(request.model, embedded, request.base64), resolve, reject);
  });
  exchange.sendJson(200, text);
}
