/**
 * Makes the language model from `sentences.ts`: `node dist/examples/languages/train.js` in the top folder.
 *
 * It is a naive Bayes classifier. For every language, each id has a number: the logarithm of its share in
 * that language. The numbers of a text's ids are added up and turned into probabilities.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { graph } from '../../test/support/onnx/graph.js';
import { modelRepository } from './folder.js';
import { languages, trainingSentences } from './sentences.js';
import { toIds, vocabularySize } from './tokens.js';

/** How many times every id counts as seen in advance, so that no id rules a language out. */
const smoothing = 0.2;

/** The model: input ids, INT64 [N, T], to output probabilities, FP32 [N, number of languages]. */
export function languageModel(): Uint8Array {
  const rows = languages.length;
  return graph('languages')
    .input('ids', 'INT64', ['N', 'T'])
    .initializer('table', 'FP32', [vocabularySize, rows], logFrequencies())
    .initializer('tokens', 'INT64', [1], [1])
    .node('Gather', ['table', 'ids'], ['votes'])
    .node('ReduceSum', ['votes', 'tokens'], ['evidence'], { keepdims: 0 })
    .node('Softmax', ['evidence'], ['probabilities'], { axis: 1 })
    .output('probabilities', 'FP32', ['N', rows])
    .encode();
}

/**
 * [vocabularySize, languages], row by row. The row of id 0 is zero, so that filling a text up changes
 * nothing.
 */
function logFrequencies(): Float32Array {
  const table = new Float32Array(vocabularySize * languages.length);
  for (const [language, sentences] of trainingSentences.entries()) {
    const counts = new Float64Array(vocabularySize).fill(smoothing);
    for (const id of sentences.flatMap((sentence) => [...toIds(sentence)])) {
      counts[Number(id)] = (counts[Number(id)] ?? 0) + 1;
    }
    const total = counts.subarray(1).reduce((sum, count) => sum + count, 0);
    for (let id = 1; id < vocabularySize; id += 1) {
      table[id * languages.length + language] = Math.log((counts[id] ?? 0) / total);
    }
  }
  return table;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const folder = new URL('languages/1/', modelRepository);
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL('model.onnx', folder), languageModel());
}
