/** Fuzzes the extension for binary data over HTTP: npm test -- fuzz-binary [--seconds 20] [--seed <random>] */

import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { fuzzBinary } from './fuzz-binary-run.js';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '20' }, seed: { type: 'string' } },
});
const seconds = Number(values.seconds);
const seed = Number(values.seed ?? randomInt(2 ** 31));
if (!(seconds > 0) || !Number.isSafeInteger(seed)) {
  throw new RangeError('expected a number above 0 for --seconds, and a whole one for --seed');
}
console.log(`fuzzing binary tensors over HTTP for ${seconds} s with seed ${seed}`);
const end = performance.now() + seconds * 1000;
const { executions, honest, refused, read } = fuzzBinary(seed, () => performance.now() > end);
console.log(`${executions} executions, ${honest} honest ones read, ${refused} others refused, ${read} read`);
