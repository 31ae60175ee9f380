/** Scores a table of any length: reads a CSV file, asks the model for many rows at a time, writes another. */

import { createReadStream, createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { finished } from 'node:stream/promises';
import type { Model } from '../../src/index.js';

/** The rows of a request. A row costs little, so that many of them share what a request costs. */
const rowsAtOnce = 500;

/** The rows of a request, as the model takes them. */
interface Piece {
  readonly labels: readonly string[];
  readonly inputs: { readonly input__0: { readonly data: Float32Array; readonly shape: readonly number[] } };
}

/** The result of scoring a table. */
export interface Scored {
  readonly rows: number;
  /** How many of the labels are the model's answers. */
  readonly right: number;
}

/** Reads a table: a header, and then a label and numbers in each line. An empty cell is a missing value. */
async function* pieces(file: string): AsyncGenerator<Piece> {
  let labels: string[] = [];
  let data: number[] = [];
  const take = (): Piece => {
    const shape = [labels.length, data.length / labels.length];
    const piece = { labels, inputs: { input__0: { data: Float32Array.from(data), shape } } };
    labels = [];
    data = [];
    return piece;
  };
  let isHeader = true;
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    const [label = '', ...cells] = line.split(',');
    if (!isHeader) {
      labels.push(label);
      for (const cell of cells) data.push(cell === '' ? NaN : Number(cell));
      if (labels.length === rowsAtOnce) yield take();
    }
    isHeader = false;
  }
  if (labels.length > 0) yield take();
}

/**
 * Scores a table. Reading, the model and writing work at the same time, and the memory does not grow with the
 * table.
 *
 * @param progress - Called after each piece, with the rows so far.
 */
export async function scoreTable(
  model: Model,
  table: string,
  scores: string,
  progress: (rows: number) => void,
): Promise<Scored> {
  const out = createWriteStream(scores);
  out.write('label,answer,probability\n');
  const waiting: (readonly string[])[] = [];
  let rows = 0;
  let right = 0;
  async function* inputs(): AsyncGenerator<Piece['inputs']> {
    for await (const piece of pieces(table)) {
      waiting.push(piece.labels);
      yield piece.inputs;
    }
  }
  for await (const { outputs } of model.map(inputs())) {
    const best = outputs['output__0']?.as('FP32').topK(1) ?? [];
    for (const [i, label] of (waiting.shift() ?? []).entries()) {
      const { index = -1, value = NaN } = best[i]?.[0] ?? {};
      if (String(index) === label) right += 1;
      if (!out.write(`${label},${index},${value.toFixed(4)}\n`)) await once(out, 'drain');
      rows += 1;
    }
    progress(rows);
  }
  out.end();
  await finished(out);
  return { rows, right };
}
