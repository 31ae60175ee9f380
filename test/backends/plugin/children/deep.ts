/**
 * Runs a plug-in that needs much of its thread's stack, in a worker or on the main thread. Arguments: a repository,
 * the folder of the plug-ins, and `worker` or `main`. Prints how many batches ran inline.
 */

import { once } from 'node:events';
import { isMainThread, Worker } from 'node:worker_threads';
import { createServer } from '../../../../src/index.js';

const [repository = '', backendDirectory = '', place = ''] = process.argv.slice(2);
if (isMainThread && place === 'worker') {
  await once(new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) }), 'exit');
} else {
  const server = await createServer(repository, { backendDirectory, inline: 10_000 });
  for (let i = 0; i < 200; i++) await server.infer('deep', { x: [[i]] });
  console.log(server.explain('deep').inline);
  await server.close();
}
