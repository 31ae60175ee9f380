/** Comes to its end without being told: a repository, and what is still going on then. */

import { createServer } from '../../../src/index.js';
import { row } from '../../server/harness.js';
import { asking } from '../../faults/harness.js';

const [folder = '', scenario = ''] = process.argv.slice(2);
const ready = (): void => {
  console.log('ready');
};
const models = scenario === 'runs-onnxruntime' ? ['long'] : ['add', 'echo', 'soon', 'late', 'faulty'];
const server = await createServer(folder, { modelControlMode: 'explicit', loadModels: models });

const scenarios: Record<string, () => void | Promise<void>> = {
  // Nothing was ever asked.
  unused: ready,
  // Everything is answered.
  idle: async () => {
    await Promise.all([server.infer('add', { x: row() }), server.infer('echo', { x: row() })]);
    ready();
  },
  // Requests are in flight: they are waited for.
  'in-flight': () => {
    for (let i = 0; i < 10; i++)
      void server.infer('soon', { x: row(i) }).then(() => {
        console.log(`answer ${i}`);
      });
    ready();
  },
  // Nobody waits any more for what is in flight.
  cancelled: async () => {
    const abort = new AbortController();
    const running = server.model('late').infer({ x: row() }, { signal: abort.signal });
    const hanging = server.model('faulty').infer(asking('hangs'), { signal: abort.signal });
    abort.abort();
    await Promise.allSettled([running, hanging]);
    ready();
  },
  // The last thing a program does is to close, and it does not wait for that.
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
  // A cancelled request that still runs does not end the process beneath close().
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
