/** A progress listener that throws. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from '../../../src/index.js';
import { writeRepository } from '../../support/repository.js';
import { identity } from '../harness.js';

process.once('uncaughtException', (error) => {
  console.log(`caught: ${error.message}`);
});
let calls = 0;
const folder = await mkdtemp(join(tmpdir(), 'tritonts-'));
const server = await createServer(await writeRepository(folder, { a: identity() }), {
  onProgress: ({ model, state }) => {
    if (calls++ === 0) throw new Error(`listener at ${model} ${state}`);
  },
});
if (server.ready) console.log('ready');
await server.close();
await rm(folder, { recursive: true });
