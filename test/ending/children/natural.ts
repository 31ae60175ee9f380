/** Ends by itself. Arguments: a repository, and the activity that is still under way then. */

import { createServer } from '../../../src/index.js';
import { row } from '../../support/harness.js';
import { asking } from '../../faults/harness.js';

const [folder = '', scenario = ''] = process.argv.slice(2);
const ready = (): void => {
  console.log('ready');
};
const models = scenario === 'runs-onnxruntime' ? ['long'] : ['add', 'echo', 'soon', 'late', 'faulty'];
const server = await createServer(
  folder,
  scenario === 'polled'
    ? { modelControlMode: 'poll', repositoryPollMs: 1000 }
    : { modelControlMode: 'explicit', loadModels: models },
);

const scenarios: Record<string, () => void | Promise<void>> = {
  // The server gets no request.
  unused: ready,
  // Its timer waits for the next poll.
  polled: async () => {
    await server.rescan();
    ready();
  },
  // Every request is answered.
  idle: async () => {
    await Promise.all([server.infer('add', { x: row() }), server.infer('echo', { x: row() })]);
    ready();
  },
  // The process waits for requests in flight.
  'in-flight': () => {
    for (let i = 0; i < 10; i++)
      void server.infer('soon', { x: row(i) }).then(() => {
        console.log(`answer ${i}`);
      });
    ready();
  },
  // The requests in flight were cancelled.
  cancelled: async () => {
    const abort = new AbortController();
    const running = server.model('late').infer({ x: row() }, { signal: abort.signal });
    const hanging = server.model('faulty').infer(asking('hangs'), { signal: abort.signal });
    abort.abort();
    await Promise.allSettled([running, hanging]);
    ready();
  },
  // Programs often close the server at their end without waiting for it.
  closing: () => {
    void server.infer('soon', { x: row() }).then(() => {
      console.log('answer');
    });
    void server.close().then(() => {
      console.log('closed');
    });
    ready();
  },
  'closing-before-exit': () => {
    process.on('beforeExit', () => {
      void server.close().then(() => {
        console.log('closed');
      });
    });
    ready();
  },
  // A cancelled request still runs. The process must not end during close().
  'closing-after-cancelling': async () => {
    const abort = new AbortController();
    const running = server.model('soon').infer({ x: row() }, { signal: abort.signal });
    setImmediate(() => {
      abort.abort();
    });
    await running.catch(() => undefined);
    void server.close().then(() => {
      console.log('closed');
    });
    ready();
  },
};
await scenarios[scenario]?.();
