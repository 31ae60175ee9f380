/**
 * `npm test -- frameworks`: compares tree models that `train.py` has just trained with their frameworks' own answers: node
 * dist/test/backends/fil/frameworks.js <folder>
 */

import { createServer } from '../../../src/index.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { allRows, readAnswers, trees, type TreeModel } from './answers.js';

/** The largest difference of an answer; SHAP values are added up as floats by XGBoost. */
const most = { answers: 1e-6, contributions: 2e-5 };

/** The largest difference of two lists, in parts of the expected value if it is above 1. */
function largestDifference(actual: ArrayLike<number>, expected: readonly number[]): number {
  if (actual.length !== expected.length) return Infinity;
  return expected.reduce((largest, value, index) => {
    const difference = Math.abs((actual[index] ?? NaN) - value) / Math.max(1, Math.abs(value));
    // NaN is the largest.
    return difference <= largest ? largest : difference;
  }, 0);
}

function shapOf({ contributions, asked }: TreeModel): number | undefined {
  return contributions && contributions.length / asked.length;
}

const releases: (() => Promise<void>)[] = [];
const context = { after: (release: () => Promise<void>) => void releases.push(release) };
const [folder = '.'] = process.argv.slice(2);
const models = await readAnswers(folder);
const repository = await writeRepository(
  await temporaryFolder(context),
  Object.fromEntries(models.map((model) => [model.name, trees(model, { shap: shapOf(model) })])),
);
const server = await createServer(repository);
const largest = { answers: 0, contributions: 0 };
for (const model of models) {
  const { name, asked, features, values, contributions } = model;
  const { outputs } = await server.infer(name, {
    input__0: { data: allRows(model), shape: [asked.length, features] },
  });
  for (const [part, output, expected] of [
    ['answers', 'output__0', values],
    ['contributions', 'treeshap_output', contributions],
  ] as const) {
    if (expected === undefined) continue;
    const difference = largestDifference(outputs[output]?.as('FP32').data ?? [], expected);
    if (!(difference <= most[part])) {
      console.error(`${name}: ${part} differ by ${difference}, more than ${most[part]}`);
      process.exitCode = 1;
    }
    largest[part] = Math.max(largest[part], difference);
  }
}
await server.close();
for (const release of releases) await release();
console.log(
  `${models.length} models: answers differ by at most ${largest.answers.toExponential(1)}, ` +
    `SHAP values by at most ${largest.contributions.toExponential(1)}`,
);
