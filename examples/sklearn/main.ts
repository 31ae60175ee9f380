/**
 * Serves the model that `train.py` made, and compares it with scikit-learn: node
 * dist/examples/sklearn/main.js <folder>
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createServer } from '../../src/index.js';
import { compare, type HeldOut } from './compare.js';

const [folder = '.'] = process.argv.slice(2);
const heldOut = JSON.parse(await readFile(join(folder, 'held-out.json'), 'utf8')) as HeldOut;

const server = await createServer(join(folder, 'models'));
const { images, sameLabels, largestDifference } = await compare(server.model('digits'), heldOut);
console.log(`${sameLabels} of ${images} labels are scikit-learn's own`);
console.log(`probabilities differ by at most ${largestDifference.toExponential(1)}`);
await server.close();
