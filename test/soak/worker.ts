/** The soak's second environment. */

import { parentPort, workerData } from 'node:worker_threads';
import { attachServer, type ServerHandle } from '../../src/index.js';
import { soakLoad } from './load.js';

const { handle, count, seed } = workerData as { handle: ServerHandle; count: number; seed: number };
const server = await attachServer(handle);
const result = await soakLoad(server, count, seed);
await server.close();
parentPort?.postMessage(result);
