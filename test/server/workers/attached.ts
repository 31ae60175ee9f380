/** A worker that attaches to the server of a given handle, and executes the test's commands. */

import { parentPort, workerData } from 'node:worker_threads';
import { attachServer, type ServerHandle, TritonError } from '../../../src/index.js';
import { floats, row, turn } from '../../support/basics.js';
import type { Answer, Question } from './client.js';

const { handle } = workerData as { readonly handle: ServerHandle };
const server = await attachServer(handle);
let begun: Promise<boolean> | undefined;
let streaming = false;
let streamed: Promise<number> | undefined;

/** Makes requests until told to stop. Returns the number of answers. */
async function stream(name: string): Promise<number> {
  let count = 0;
  while (streaming) {
    await server.infer(name, { x: row(count) });
    count++;
  }
  return count;
}

const tasks: Readonly<Record<Question['task'], (question: Question) => unknown>> = {
  infer: async ({ name = '', count = 1 }) => {
    const requests = Array.from({ length: count }, (_, i) => server.infer(name, { x: row(i) }));
    return (await Promise.all(requests)).map((result) => floats(result)[0]);
  },
  /** Replies when the engine has the request. */
  begin: async ({ name = '' }) => {
    begun = server.infer(name, { x: row() }).then(
      () => true,
      () => false,
    );
    await turn();
  },
  /** Whether that request got an answer. */
  answered: () => begun,
  stream: ({ name = '' }) => {
    streaming = true;
    streamed = stream(name);
  },
  stop: () => {
    streaming = false;
    return streamed;
  },
  /** Blocks the thread until `gate` opens, with a request that was made and not sent. */
  block: async ({ name = '', gate }) => {
    const request = server.infer(name, { x: row() });
    if (gate) Atomics.wait(new Int32Array(gate), 0, 0);
    await request;
  },
  config: ({ name = '' }) => server.model(name).config.max_batch_size,
  info: ({ name = '' }) => [server.index(), server.model(name).runtimeInfo()],
  load: ({ name = '' }) => server.loadModel(name),
  close: ({ timeoutMs }) => server.close({ timeoutMs }),
  exit: () => process.exit(0),
};

parentPort?.on('message', (question: Question) => {
  const answer = (outcome: Omit<Answer, 'id'>): void => {
    parentPort?.postMessage({ id: question.id, ...outcome } satisfies Answer);
  };
  Promise.resolve(question)
    .then(tasks[question.task])
    .then(
      (value) => {
        answer({ value });
      },
      (error: unknown) => {
        answer({ error: error instanceof TritonError ? [error.code, error.message] : ['', String(error)] });
      },
    );
  if (question.task === 'close') parentPort?.unref();
});
parentPort?.postMessage({ id: 0 } satisfies Answer);
