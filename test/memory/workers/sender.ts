/** A worker that sends an output and ends. */

import { parentPort, workerData } from 'node:worker_threads';
import { attachServer, type ServerHandle } from '../../../src/index.js';
import { row } from '../../support/basics.js';

const { handle, width, ownOutputs } = workerData as {
  readonly handle: ServerHandle;
  readonly width: number;
  readonly ownOutputs: boolean;
};
const server = await attachServer(handle);
const { outputs } = await server.infer('echo', { x: row(5, width) }, { ownOutputs });
const data = outputs['y']?.as('FP32').data;
// An output with ownOutputs can be transferred; any other is copied.
parentPort?.postMessage(data, ownOutputs && data ? [data.buffer] : []);
