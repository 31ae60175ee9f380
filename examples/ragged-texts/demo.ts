/**
 * Serves one text encoder in three ways, compares the results, and prints speed beside each other.
 * `node dist/examples/ragged-texts/demo.js` exits with 1 unless all ways have the same results.
 */
import { runTexts, serveTexts, textsLoad, textsOf, ways, type Way } from '../../bench/limits/ragged.js';
import { table } from '../../bench/reports/table.js';
import type { InferenceServer } from '../../src/index.js';

const rounds = 5;
const turnMs = 600;
/** The largest difference that the order of additions may make. */
const tolerance = 1e-3;

const titles: Readonly<Record<Way, string>> = {
  ragged: 'ragged: no padding, one batch',
  padded: `padded to ${textsLoad.sizes.maxTokens} tokens`,
  apart: 'no padding, batches of one length',
};

/** The embeddings of all texts, one after the other. */
async function embed(server: InferenceServer, way: Way): Promise<readonly number[]> {
  const model = server.model(way);
  const results = await Promise.all(textsOf(way, textsLoad).map((input_ids) => model.infer({ input_ids })));
  return results.flatMap(({ outputs }) => {
    const data = outputs['embedding']?.data;
    if (!(data instanceof Float32Array)) throw new TypeError('expected float32');
    return [...data];
  });
}

await using server = await serveTexts(textsLoad);
const expected = await embed(server, 'padded');
const differences = new Map<Way, number>();
for (const way of ways) {
  const values = await embed(server, way);
  const largest = values.reduce(
    (most, value, i) => Math.max(most, Math.abs(value - (expected[i] ?? NaN))),
    0,
  );
  differences.set(way, largest);
  if (values.length !== expected.length || !(largest <= tolerance)) {
    console.error(`${way}: the results differ from those of padded texts by ${largest}`);
    process.exitCode = 1;
  }
}

const rates = new Map<Way, number[]>(ways.map((way) => [way, []]));
const batches = new Map<Way, number>();
for (let round = 0; round < rounds; round++) {
  for (const way of ways) {
    const { perSecond, meanBatch } = await runTexts(server, way, textsLoad, turnMs);
    rates.get(way)?.push(perSecond);
    batches.set(way, meanBatch);
  }
}
const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
const of = (way: Way): number => median(rates.get(way) ?? []);

const { lengths, outstanding, maxBatchSize } = textsLoad;
const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
console.log(
  `${lengths.length} texts of ${Math.min(...lengths)} to ${Math.max(...lengths)} tokens, ${mean.toFixed(0)} on average; ` +
    `${outstanding} requests outstanding, batches of at most ${maxBatchSize}.\n`,
);
console.log(
  table(
    ['texts', 'requests/s', 'of padded', 'mean batch', 'largest difference'],
    ways.map((way) => [
      titles[way],
      of(way).toFixed(0),
      `${(of(way) / of('padded')).toFixed(2)} x`,
      (batches.get(way) ?? NaN).toFixed(1),
      (differences.get(way) ?? NaN).toExponential(1),
    ]),
  ),
);
