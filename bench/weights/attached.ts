/** A worker that is attached to a server, has an answer, and stays. */
import { parentPort, workerData } from 'node:worker_threads';
import { attachServer, type ServerHandle } from '../../src/index.js';

/** What the worker is given. */
export interface HolderQuestion {
  readonly handle: ServerHandle;
  readonly model: string;
  readonly length: number;
}

// Written by the maker of the worker.
const { handle, model, length } = workerData as HolderQuestion;
const server = await attachServer(handle);
await server.model(model).infer({ x: new Float32Array(length) });
parentPort?.on('message', () => undefined);
parentPort?.postMessage('ready');
