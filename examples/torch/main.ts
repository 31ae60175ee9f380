/**
 * Serves the network that `train.py` exported, and compares it with PyTorch: node dist/examples/torch/main.js
 * <folder>
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createServer } from '../../src/index.js';
import { compare, type HeldOut } from './compare.js';

const [folder = '.'] = process.argv.slice(2);
const heldOut = JSON.parse(await readFile(join(folder, 'held-out.json'), 'utf8')) as HeldOut;

const server = await createServer(join(folder, 'models'));
const { images, right, largestDifference, largestBatch } = await compare(server.model('digits'), heldOut);
console.log(`${right} of ${images} digits right, in batches of up to ${largestBatch}`);
console.log(`scores differ from PyTorch's by at most ${largestDifference.toExponential(1)} of the largest`);
await server.close();
