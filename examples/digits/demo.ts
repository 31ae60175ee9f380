/**
 * Serves the two classifiers of handwritten digits, classifies the held-out images, and compares the result
 * with onnxruntime-node alone. `node dist/examples/digits/demo.js` exits with 1 unless at least 97 % are
 * right.
 */
import { createServer, type InferenceServer } from '../../src/index.js';
import { ofStatistics } from '../../bench/reports/histogram.js';
import { served, withoutServer, type OpenClassifiers } from './classifiers.js';
import { classifyAll, compare, countRight, type Comparison, type Turns } from './compare.js';
import { modelRepository, readHeldOutDigits, type Digit } from './data.js';
import { comparisonTable, freeLoopSentence, histogramLines, modelTimeLine } from './print.js';

const wanted = 0.97;

const digits = readHeldOutDigits();

console.log('Loading examples/digits/models …');
const server = await createServer(modelRepository);
try {
  await show(server, 'digits', 'a perceptron, some microseconds an image', {
    callers: 128,
    rounds: 5,
    turnMs: 300,
  });
  console.log(`\nBatches that tritonts made of single images, by size:\n\n${batches(server, 'digits')}\n`);
  const rows = await show(server, 'digits_conv', 'convolutions, about a millisecond an image', {
    callers: 16,
    rounds: 3,
    turnMs: 500,
  });
  console.log(`\n${freeLoopSentence(rows)}`);
} finally {
  await server.close();
}

/** Classifies all images with one model, prints how many are right, and compares. Returns the comparison. */
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

  const { max_batch_size: most } = model.config;
  const rivals = await openRivals(name, intraOpThreads, most);
  if (rivals) {
    const alone = await rivals.modelTime(digits.slice(0, 1));
    console.log(modelTimeLine(alone, await rivals.modelTime(digits.slice(0, most)), most));
  }
  console.log(
    `${turns.callers} callers at work, by turns; each asks for its next image when it has the answer for the last.\n` +
      `ONNX Runtime ${library?.version ?? ''} with ${intraOpThreads} thread(s), spinning: ${spinning}, for each library; ` +
      `tritonts runs ${instances.length} instance.\n`,
  );
  try {
    const rows = await compare([ours, ...(rivals?.classifiers ?? [])], digits, turns, (text) => {
      progress(`${name}, ${text}`);
    });
    progress('');
    console.log(comparisonTable(rows));
    return rows;
  } finally {
    await rivals?.close();
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

async function openRivals(
  name: string,
  threads: number,
  maxBatchSize: number,
): Promise<OpenClassifiers | undefined> {
  try {
    return await withoutServer(name, threads, maxBatchSize);
  } catch (error) {
    console.log(`onnxruntime-node can't be compared with, as it doesn't load: ${String(error)}`);
    return undefined;
  }
}

function batches(server: InferenceServer, name: string): string {
  return histogramLines(ofStatistics(server.model(name).statistics().batch_stats));
}

/** Shows a line that the next one replaces, if the output is a terminal. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}
