/**
 * Guesses the language of texts, with a model that takes a variable number of ids.
 *
 * `node dist/examples/languages/main.js` tries it on the test sentences, or on its arguments if there are
 * any.
 */
import { createServer, type Model } from '../../src/index.js';
import { modelRepository } from './folder.js';
import { languages, testSentences } from './sentences.js';
import { toIds } from './tokens.js';

interface Guess {
  readonly text: string;
  readonly language: string;
  readonly probability: number;
  /** How many texts ran together. */
  readonly batchSize: number;
}

async function guess(model: Model, text: string): Promise<Guess> {
  // The config says dims: [ -1 ], so an array of any length is one text.
  const { outputs, timings } = await model.infer({ ids: toIds(text) });
  const probabilities = outputs.probabilities?.as('FP32').data ?? new Float32Array();
  const probability = Math.max(...probabilities);
  const language = languages[probabilities.indexOf(probability)] ?? 'none';
  return { text, language, probability, batchSize: timings.batchSize };
}

function print({ text, language, probability, batchSize }: Guess): void {
  const percent = `${(100 * probability).toFixed(0)} %`.padStart(5);
  console.log(`${language.padEnd(8)} ${percent}  in a batch of ${String(batchSize).padStart(2)}  ${text}`);
}

const server = await createServer(modelRepository);
try {
  const model = server.model('languages');
  const texts = process.argv.slice(2);
  if (texts.length > 0) {
    for (const one of await Promise.all(texts.map((text) => guess(model, text)))) print(one);
  } else {
    const expected = testSentences.flatMap((sentences, i) => sentences.map(() => languages[i]));
    const guesses = await Promise.all(testSentences.flat().map((text) => guess(model, text)));
    guesses.forEach(print);
    const right = guesses.filter(({ language }, i) => language === expected[i]).length;
    console.log(`${right} of ${guesses.length} right`);
  }
} finally {
  await server.close();
}
