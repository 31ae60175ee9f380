/**
 * Makes the tokenizer and the classifier from the sentences of examples/languages:
 * `node dist/examples/text/train.js` in the top folder.
 *
 * The classifier is naive Bayes over pieces of words. For every language, each piece has a number: the
 * logarithm of its share in that language. The numbers of a text's pieces are added up and turned into
 * probabilities.
 */
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { graph } from '../../test/support/onnx/graph.js';
import { languages, trainingSentences } from '../languages/sentences.js';
import { modelRepository } from './folder.js';
import { tokenizersPackage, type Tokenizer } from './tokenizer.js';
import { learnVocabulary, specialTokens, tokenizerJson } from './vocabulary.js';

/** Number of pieces. */
const vocabularySize = 500;

/** How many times every piece counts as seen in advance, so that no piece rules a language out. */
const smoothing = 0.2;

/** The files that training makes, by their path in the repository of models. */
export async function trainedFiles(): Promise<Record<string, string | Uint8Array>> {
  const tokenizers = await tokenizersPackage();
  if (!tokenizers) throw new Error('@huggingface/tokenizers is not installed: npm ci');
  const tokenizer = tokenizerJson(learnVocabulary(trainingSentences.flat(), vocabularySize));
  return {
    'tokenize/1/tokenizer.json': `${JSON.stringify(tokenizer, null, 2)}\n`,
    'classify/1/model.onnx': classifier(new tokenizers.Tokenizer(tokenizer, {})),
    'label/1/labels.txt': `${languages.join('\n')}\n`,
  };
}

/** The model: ids and mask, INT64 [N, T], to probabilities, FP32 [N, number of languages]. */
function classifier(tokenizer: Tokenizer): Uint8Array {
  const rows = languages.length;
  return graph('classify')
    .input('input_ids', 'INT64', ['N', 'T'])
    .input('attention_mask', 'INT64', ['N', 'T'])
    .initializer('table', 'FP32', [vocabularySize, rows], logFrequencies(tokenizer))
    .initializer('pieces', 'INT64', [1], [1])
    .initializer('last', 'INT64', [1], [-1])
    .node('Gather', ['table', 'input_ids'], ['numbers'])
    .node('Cast', ['attention_mask'], ['counts'], { to: 1 })
    .node('Unsqueeze', ['counts', 'last'], ['weights'])
    .node('Mul', ['numbers', 'weights'], ['votes'])
    .node('ReduceSum', ['votes', 'pieces'], ['evidence'], { keepdims: 0 })
    .node('Softmax', ['evidence'], ['probabilities'], { axis: 1 })
    .output('probabilities', 'FP32', ['N', rows])
    .encode();
}

/** [vocabularySize, languages], row by row. Special pieces say nothing about the language. */
function logFrequencies(tokenizer: Tokenizer): Float32Array {
  const table = new Float32Array(vocabularySize * languages.length);
  const first: number = specialTokens.length;
  for (const [language, sentences] of trainingSentences.entries()) {
    const counts = new Float64Array(vocabularySize).fill(smoothing);
    for (const id of sentences.flatMap((sentence) => tokenizer.encode(sentence).ids))
      counts[id] = (counts[id] ?? 0) + 1;
    const total = counts.subarray(first).reduce((sum, count) => sum + count, 0);
    for (let id = first; id < vocabularySize; id += 1)
      table[id * languages.length + language] = Math.log((counts[id] ?? 0) / total);
  }
  return table;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const [path, content] of Object.entries(await trainedFiles()))
    writeFileSync(new URL(path, modelRepository), content);
}
