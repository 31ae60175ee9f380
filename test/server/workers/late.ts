/**
 * A worker that makes requests, and stands still before the engine gets them, until its gate is 1. Then it reports
 * their outcomes.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { attachServer, TritonError, type InferResult, type ServerHandle } from '../../../src/index.js';
import { floats, row } from '../../support/basics.js';

/** The worker's task. */
export interface Late {
  readonly handle: ServerHandle;
  readonly gate: Int32Array;
}

/** The outcomes of its requests: the first number of an answer, or an error's code. */
export interface Outcomes {
  readonly small: readonly (number | string)[];
  readonly large: readonly (number | string)[];
  readonly pinned: number | string;
}

const { handle, gate } = workerData as Late;
const server = await attachServer(handle);
const outcome = (request: Promise<InferResult>): Promise<number | string> =>
  request.then(
    (result) => floats(result)[0] ?? NaN,
    (error: unknown) => (error instanceof TritonError ? error.code : String(error)),
  );
await server.infer('add', { x: row() });
const small = Array.from({ length: 20 }, (_, i) => outcome(server.infer('add', { x: row(i) })));
const large = [1, 2].map((first) => outcome(server.infer('add', { x: row(first, 16 * 100) })));
const pinned = outcome(server.infer('add', { x: row() }, { version: 1 }));
parentPort?.postMessage('asked');
Atomics.wait(gate, 0, 0);
const outcomes: Outcomes = {
  small: await Promise.all(small),
  large: await Promise.all(large),
  pinned: await pinned,
};
parentPort?.postMessage(outcomes);
await server.close();
