/**
 * Serves the ensemble `language`, tells the language of the held-out sentences, and compares with the same
 * code on the main thread. `node dist/examples/text/demo.js` exits with 1 unless at least 95 % are right.
 */
import { createServer } from '../../src/index.js';
import { classifyAll, compare } from '../digits/compare.js';
import { delayTable } from '../digits/print.js';
import { onThisThread, served } from './contestants.js';
import { pages, sentences } from './data.js';
import { modelRepository } from './folder.js';
import { readTokenizer, tokenizersPackage } from './tokenizer.js';

const wanted = 0.95;
const turns = { callers: 32, rounds: 5, turnMs: 600 };

const tokenizers = await tokenizersPackage();
if (!tokenizers) {
  console.error('examples/text needs @huggingface/tokenizers, which is not installed: npm ci');
  process.exit(1);
}

console.log('Loading examples/text/models …');
await using server = await createServer(modelRepository);
const ours = served(server.model('language'));

const answers = await classifyAll(ours, sentences);
const right = sentences.filter(({ label }, i) => label === answers[i]).length;
const share = (100 * right) / sentences.length;
console.log(
  `language (tokenizer, classifier, labels): ${right} of ${sentences.length} held-out sentences right, ${share.toFixed(1)} %`,
);
if (share < 100 * wanted) {
  console.error(`language: at least ${100 * wanted} % should be right`);
  process.exitCode = 1;
}

const { intraOpThreads, library } = server.model('classify').runtimeInfo();
const direct = await onThisThread(readTokenizer(tokenizers), intraOpThreads);
const tokenizerThreads = server.model('tokenize').runtimeInfo().instances.length;
console.log(
  `${turns.callers} callers at work, by turns; each asks for its next text when it has the answer for the last.\n` +
    `ONNX Runtime ${library?.version ?? ''} with ${intraOpThreads} thread(s) for both; tritonts tokenizes on ${tokenizerThreads} threads.`,
);
try {
  for (const [name, texts] of [
    ['sentences', sentences],
    ['texts of 20 sentences', pages],
  ] as const) {
    const characters = texts.reduce((sum, { text }) => sum + text.length, 0) / texts.length;
    const rows = await compare([ours, direct], texts, turns);
    console.log(`\n${name}, ${characters.toFixed(0)} characters each on average:\n\n${delayTable(rows)}`);
  }
} finally {
  await direct.close();
}
