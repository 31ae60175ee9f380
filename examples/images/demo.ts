/**
 * Serves the ensemble `digit`, classifies pictures of the held-out digits, and compares with the same code on
 * the main thread. `node dist/examples/images/demo.js` exits with 1 unless at least 95 % are right.
 */
import { createServer } from '../../src/index.js';
import { classifyAll, compare } from '../digits/compare.js';
import { readHeldOutDigits } from '../digits/data.js';
import { delayTable } from '../digits/print.js';
import { onThisThread, served } from './contestants.js';
import { draw, height, width } from './draw.js';
import { modelRepositories } from './folder.js';
import { sharpPackage } from './sharp.js';

const wanted = 0.95;
const turns = { callers: 16, rounds: 5, turnMs: 800 };

const sharp = await sharpPackage();
if (!sharp) {
  console.error('examples/images needs sharp, which is not installed: npm ci');
  process.exit(1);
}

console.log('Drawing pictures, loading examples/images/models …');
const digits = readHeldOutDigits();
const pictures = await Promise.all(
  digits.map(async (digit) => ({ jpeg: await draw(sharp, digit), label: digit.label })),
);
await using server = await createServer(modelRepositories);
const ours = served(server.model('digit'));

const answers = await classifyAll(ours, pictures);
const right = pictures.filter(({ label }, i) => label === answers[i]).length;
const share = (100 * right) / pictures.length;
console.log(
  `digit (decoder, convolutions): ${right} of ${pictures.length} pictures right, ${share.toFixed(1)} %`,
);
if (share < 100 * wanted) {
  console.error(`digit: at least ${100 * wanted} % should be right`);
  process.exitCode = 1;
}

const { intraOpThreads, library } = server.model('digits_conv').runtimeInfo();
const kilobytes = pictures.reduce((sum, { jpeg }) => sum + jpeg.length, 0) / pictures.length / 1000;
console.log(
  `${turns.callers} callers at work, by turns; each asks for its next picture when it has the answer for the last.\n` +
    `Pictures are JPEG files of ${width} x ${height} pixels and ${kilobytes.toFixed(0)} kB; ` +
    `ONNX Runtime ${library?.version ?? ''} with ${intraOpThreads} thread(s) for both.\n`,
);
const direct = await onThisThread(intraOpThreads);
try {
  console.log(delayTable(await compare([ours, direct], pictures, turns)));
} finally {
  await direct.close();
}
