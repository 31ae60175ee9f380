/** A worker that owns a server of Python models, and says when it serves. Its parent terminates it, or it exits at a chosen point. */

import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { createServer } from '../../../src/index.js';
import { row } from '../../support/harness.js';
import { withPython } from '../harness.js';

/** What the worker is told. */
export interface Ownership {
  readonly repository: string;
  /** Where it exits by itself: right before or right after the system has started the process. */
  readonly exits?: 'before spawn' | 'after spawn';
  /** Whether it sends a request when it serves. */
  readonly infers?: boolean;
}

// `workers.test.ts` gives it.
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
