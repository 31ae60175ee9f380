/**
 * A worker that owns a server of Python models, and reports when it serves. Its parent terminates it, or it exits
 * at a chosen point.
 */

import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { createServer } from '../../../src/index.js';
import { row } from '../../support/harness.js';
import { withPython } from '../harness.js';

/** The worker's data. */
export interface Ownership {
  readonly repository: string;
  /** The point where it exits by itself: right before or right after the process is started. */
  readonly exits?: 'before spawn' | 'after spawn';
  /** Whether it sends a request when it serves. */
  readonly infers?: boolean;
}

// `workers.test.ts` passes this data.
const { repository, exits, infers } = workerData as Ownership;

if (exits !== undefined) {
  const { spawn } = childProcess;
  childProcess.spawn = ((...given: Parameters<typeof spawn>) => {
    if (exits === 'before spawn') process.exit(0);
    spawn(...given);
    return process.exit(0);
  }) as unknown as typeof spawn; // Its overloads, of which one is called here.
  syncBuiltinESMExports();
}

parentPort?.on('message', () => process.exit(0));
const server = await createServer(repository, withPython({}));
if (infers === true) void server.infer('python', { x: row() }).catch(() => undefined);
parentPort?.postMessage(server.handle);
