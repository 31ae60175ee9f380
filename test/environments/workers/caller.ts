/** A worker that attaches to a server, or creates one, and makes requests as `CallerData` says. */

import { parentPort, workerData } from 'node:worker_threads';
import { attachServer, createServer, TritonError, type InferenceServer } from '../../../src/index.js';
import { row, turn } from '../../support/harness.js';
import type { CallerData } from '../harness.js';

const { handle, repository, model, width = 16, count, then } = workerData as CallerData;

function post(message: unknown): void {
  parentPort?.postMessage(message);
}

/** Makes a request. Returns whether the answer is right: y = x. */
async function ask(server: InferenceServer, first: number): Promise<boolean> {
  const x = row(first, width);
  const { outputs } = await server.infer(model, { x });
  const y = outputs['y']?.as('FP32').data;
  return y?.length === width && y[0] === x[0] && y[width - 1] === x[width - 1];
}

const server = handle ? await attachServer(handle) : await createServer(repository ?? '');
if (handle === undefined) post(server.handle);

const tasks: Readonly<Record<CallerData['then'], () => Promise<void>>> = {
  /** Waits for its answers and ends on its own, without closing the server. */
  end: async () => {
    const answers = await Promise.all(Array.from({ length: count }, (_, i) => ask(server, i)));
    post(answers.filter((right) => right).length);
  },
  close: async () => {
    await tasks.end();
    await server.close();
  },
  /** Reports when its requests are sent, and the outcome of each. */
  wait: async () => {
    const requests = Array.from({ length: count }, (_, i) => ask(server, i));
    const outcomes = requests.map((request) =>
      request.then(String, (error: unknown) => (error instanceof TritonError ? error.code : String(error))),
    );
    await turn();
    post('sent');
    post(await Promise.all(outcomes));
  },
  /** Keeps `count` requests in flight until it is terminated. Reports when the first are answered. */
  stream: async () => {
    await Promise.all(Array.from({ length: count }, (_, i) => ask(server, i)));
    post('streaming');
    const caller = async (first: number): Promise<void> => {
      for (;;) await ask(server, first);
    };
    await Promise.all(Array.from({ length: count }, (_, i) => caller(i)));
  },
  /** Stays until it is terminated. */
  stay: async () => {
    parentPort?.on('message', () => undefined);
    post('here');
    await Promise.resolve();
  },
};
await tasks[then]();
