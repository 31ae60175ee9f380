/** A worker that creates a server of a given repository, and sends its handle. */

import { parentPort, workerData } from 'node:worker_threads';
import { createServer } from '../../../src/index.js';

const { repository } = workerData as { readonly repository: string };
const server = await createServer(repository);
parentPort?.postMessage(server.handle);
parentPort?.on('message', () => {
  // Its parent terminates it.
});
