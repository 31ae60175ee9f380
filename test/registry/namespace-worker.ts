/** A worker that looks up the names that it is sent, for the test of namespaces. */

import { parentPort, workerData } from 'node:worker_threads';
import { attachServer, TritonError, type ServerHandle } from '../../src/index.js';

// The test passes it.
const { handle } = workerData as { readonly handle: ServerHandle };
const server = await attachServer(handle);
parentPort?.on('message', (name: string) => {
  try {
    parentPort?.postMessage(server.model(name).ready ? 'served' : 'not ready');
  } catch (error) {
    parentPort?.postMessage(error instanceof TritonError ? `${error.code}: ${error.message}` : String(error));
  }
});
