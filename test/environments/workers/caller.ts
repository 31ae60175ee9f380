/** A worker that attaches to a server, or creates one, and asks it things; `CallerData` says what. */

import { parentPort, workerData } from 'node:worker_threads';
import { attachServer, createServer, TritonError, type InferenceServer } from '../../../src/index.js';
import { row } from '../../server/harness.js';
import type { CallerData } from '../harness.js';

const { handle, repository, model, width = 16, count, then } = workerData as CallerData;

function post(message: unknown): void {
  parentPort?.postMessage(message);
}

/** Asks once, and tells whether the answer is right: y = x. */
async function ask(server: InferenceServer, first: number): Promise<boolean> {
  const x = row(first, width);
  const { outputs } = await server.infer(model, { x });
  const y = outputs['y']?.as('FP32').data;
  return y?.length === width && y[0] === x[0] && y[width - 1] === x[width - 1];
}

const server = handle ? await attachServer(handle) : await createServer(repository ?? '');
if (handle === undefined) post(server.handle);

const tasks: Readonly<Record<CallerData['then'], () => Promise<void>>> = {
  /** Waits for its answers and ends by itself, with the server as it is. */
  end: async () => {
    const answers = await Promise.all(Array.from({ length: count }, (_, i) => ask(server, i)));
    post(answers.filter((right) => right).length);
  },
  close: async () => {
    await tasks.end();
    await server.close();
  },
  /** Tells when its requests are sent, and what each came to. */
  wait: async () => {
    const requests = Array.from({ length: count }, (_, i) => ask(server, i));
    const outcomes = requests.map((request) =>
      request.then(String, (error: unknown) => (error instanceof TritonError ? error.code : String(error))),
    );
    await new Promise((resolve) => setImmediate(resolve));
    post('sent');
    post(await Promise.all(outcomes));
  },
  /** Keeps `count` requests going until it is terminated; tells when the first are answered. */
  stream: async () => {
    await Promise.all(Array.from({ length: count }, (_, i) => ask(server, i)));
    post('streaming');
    const caller = async (first: number): Promise<void> => {
      for (;;) await ask(server, first);
    };
    await Promise.all(Array.from({ length: count }, (_, i) => caller(i)));
  },
  /** Does nothing but stay. */
  stay: async () => {
    parentPort?.on('message', () => undefined);
    post('here');
    await Promise.resolve();
  },
};
await tasks[then]();
