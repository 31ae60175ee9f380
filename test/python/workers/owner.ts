/** A worker that owns a server of Python models, and says when it serves. Its parent terminates it. */

import { parentPort, workerData } from 'node:worker_threads';
import { createServer } from '../../../src/index.js';
import { withPython } from '../harness.js';

const { repository } = workerData as { readonly repository: string };
const server = await createServer(repository, withPython({}));
parentPort?.postMessage(server.handle);
parentPort?.on('message', () => undefined);
