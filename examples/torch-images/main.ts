/**
 * Serves the models that `train.py` wrote, and classifies its pictures twice: node dist/examples/torch-images/main.js <folder>
 *
 * It exits with 1 unless at least 95 % of the digits are right.
 */

import { join } from 'node:path';
import { createServer } from '../../src/index.js';
import { optionsFor } from './options.js';
import { classifyTwice } from './pipeline.js';

const wanted = 0.95;

const [folder = '.'] = process.argv.slice(2);
const server = await createServer(join(folder, 'models'), optionsFor(process.env['VIRTUAL_ENV']));
const { pictures, right, first, second } = await classifyTwice(server, join(folder, 'pictures'));
for (const note of server.model('classifier').notes) console.log(`classifier: ${note}`);
console.log(`${right} of ${pictures} digits right`);
for (const [what, { ms, hits }] of Object.entries({ first, second }))
  console.log(`the ${what} time: ${ms.toFixed(0)} ms, ${hits} answers from the cache`);
if (right < wanted * pictures) process.exitCode = 1;
await server.close();
