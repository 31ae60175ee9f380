/** A worker that attaches to a server, gets an answer, and stays. */
import { parentPort, workerData } from 'node:worker_threads';
import { attachServer, type ServerHandle } from '../../src/index.js';

/** The worker's data. */
export interface HolderQuestion {
  readonly handle: ServerHandle;
  readonly model: string;
  readonly length: number;
}

// The creator of the worker has written this data.
const { handle, model, length } = workerData as HolderQuestion;
const server = await attachServer(handle);
await server.model(model).infer({ x: new Float32Array(length) });
parentPort?.on('message', () => undefined);
parentPort?.postMessage('ready');
