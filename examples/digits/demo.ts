/**
 * Serves the two classifiers of handwritten digits, classifies the held-out images, and compares with onnxruntime-node
 * alone. `node dist/examples/digits/demo.js`; it exits with 1 unless at least 97 % are right.
 */
import { createServer, type InferenceServer } from '../../src/index.js';
import { ofStatistics } from '../../bench/histogram.js';
import { served, withoutServer, type OpenClassifiers } from './classifiers.js';
import { classifyAll, compare, countRight, type Comparison, type Turns } from './compare.js';
import { modelRepository, readHeldOutDigits, type Digit } from './data.js';
import { comparisonTable, freeLoopSentence, histogramLines } from './print.js';

const wanted = 0.97;

const digits = readHeldOutDigits();

console.log('Loading examples/digits/models …');
const server = await createServer(modelRepository);
try {
  await show(server, 'digits', 'a perceptron, some microseconds an image', { rounds: 5, turnMs: 150 });
  console.log(`\nBatches that tritonts made of single images, by size:\n\n${batches(server, 'digits')}\n`);
  const rows = await show(server, 'digits_conv', 'convolutions, about a millisecond an image', {
    rounds: 3,
    turnMs: 300,
  });
  console.log(`\n${freeLoopSentence(rows)}`);
} finally {
  await server.close();
}

/** Classifies all images with one model, says how many are right, and compares; returns the comparison. */
async function show(
  server: InferenceServer,
  name: string,
  description: string,
  turns: Turns,
): Promise<Comparison[]> {
  const model = server.model(name);
  const { instances, intraOpThreads, spinning, library } = model.runtimeInfo();
  const ours = served(model);
  checkAccuracy(name, description, await classifyAll(ours, digits), digits);

  const rivals = await openRivals(name, intraOpThreads, model.config.max_batch_size);
  console.log(
    `All ${digits.length} images at once, again and again, in turns. ` +
      `ONNX Runtime ${library?.version ?? ''} with ${intraOpThreads} thread(s)${spinning ? ', spinning,' : ''} for everybody;\n` +
      `tritonts runs ${instances.length} instance, and batches are of at most ${model.config.max_batch_size}.\n`,
  );
  try {
    const rows = await compare([ours, ...rivals.classifiers], digits, turns, (text) => {
      progress(`${name}, ${text}`);
    });
    progress('');
    console.log(comparisonTable(rows));
    return rows;
  } finally {
    await rivals.close();
  }
}

function checkAccuracy(
  name: string,
  description: string,
  answers: readonly number[],
  expected: readonly Digit[],
): void {
  const right = countRight(answers, expected);
  const accuracy = right / expected.length;
  console.log(
    `${name} (${description}): ${right} of ${expected.length} held-out images right, ${(100 * accuracy).toFixed(1)} %`,
  );
  if (accuracy >= wanted) return;
  console.error(`${name}: at least ${100 * wanted} % should be right`);
  process.exitCode = 1;
}

async function openRivals(name: string, threads: number, maxBatchSize: number): Promise<OpenClassifiers> {
  try {
    return await withoutServer(name, threads, maxBatchSize);
  } catch (error) {
    console.log(`onnxruntime-node can't be compared with, as it doesn't load: ${String(error)}`);
    return { classifiers: [], close: () => Promise.resolve() };
  }
}

function batches(server: InferenceServer, name: string): string {
  return histogramLines(ofStatistics(server.model(name).statistics().batch_stats));
}

/** Shows one line that the next one replaces, where somebody is watching. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}
