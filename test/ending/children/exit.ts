/**
 * Ends, or is killed, while an activity is under way. Arguments: a repository, the activity, and the way to end.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { createServer, type InferenceServer } from '../../../src/index.js';
import { asking } from '../../faults/harness.js';
import { row } from '../../support/harness.js';

const [folder = '', busy = '', ending = ''] = process.argv.slice(2);

// A request that is in flight rejects at the end, which must not be reported as well.
const ignore = (): undefined => undefined;

const explicit = { modelControlMode: 'explicit', loadModels: ['late', 'faulty', 'echo'] } as const;

const activities: Record<string, () => Promise<InferenceServer[]>> = {
  onnxruntime: async () => {
    const server = await createServer(folder, { modelControlMode: 'explicit', loadModels: ['long'] });
    for (let i = 0; i < 3; i++) server.infer('long', { x: row() }).catch(ignore);
    return [server];
  },
  identity: async () => {
    const server = await createServer(folder, explicit);
    for (let i = 0; i < 1000; i++) server.infer('late', { x: row() }).catch(ignore);
    return [server];
  },
  hanging: async () => {
    const server = await createServer(folder, explicit);
    server.infer('faulty', asking('hangs')).catch(ignore);
    return [server];
  },
  'hanging-twice': async () => {
    const servers = [await createServer(folder, explicit), await createServer(folder, explicit)];
    for (const server of servers) server.infer('faulty', asking('hangs')).catch(ignore);
    return servers;
  },
  // Requests and responses are exchanged all the time.
  streaming: async () => {
    const server = await createServer(folder, { modelControlMode: 'explicit', loadModels: ['add', 'echo'] });
    const caller = async (model: string): Promise<void> => {
      for (;;) await server.infer(model, { x: row() });
    };
    for (let i = 0; i < 32; i++) {
      caller('add').catch(ignore);
      caller('echo').catch(ignore);
    }
    return [server];
  },
  loading: () =>
    new Promise((resolve) => {
      const load = (): void => {
        createServer(folder, {
          onProgress: ({ state }) => {
            if (state === 'READY') resolve([]);
          },
        }).catch(ignore);
      };
      load();
      load();
    }),
  closing: async () => {
    const server = await createServer(folder, explicit);
    server.infer('faulty', asking('hangs')).catch(ignore);
    server.infer('late', { x: row() }).catch(ignore);
    server.close({ timeoutMs: 500 }).catch(ignore);
    return [server];
  },
};

const servers = (await activities[busy]?.()) ?? [];
// Now its runs are under way.
if (busy !== 'loading') await wait(50);

const stay = setInterval(() => undefined, 1000);
async function close(): Promise<void> {
  clearInterval(stay);
  for (const server of servers) {
    await server.close({ timeoutMs: 100 }).catch((error: unknown) => {
      console.log(String(error));
    });
  }
  console.log('closed');
}

function onSignals(listener: () => void): void {
  process.on('SIGTERM', listener);
  process.on('SIGINT', listener);
}
const endings: Record<string, () => void> = {
  exit: () => process.exit(7),
  'exit-in-listener': () => {
    // A call at this point must do no harm.
    process.on('exit', () => {
      for (const server of servers) {
        server.infer('echo', { x: row() }).catch(ignore);
        server.close().catch(ignore);
      }
      process.exitCode = 9;
    });
    process.exit(7);
  },
  throw: () => {
    setImmediate(() => {
      throw new Error('thrown on purpose');
    });
  },
  reject: () => {
    void Promise.reject(new Error('rejected on purpose'));
  },
  close: () => void close(),
};
if (ending === 'exit-on-signal') onSignals(() => process.exit(3));
if (ending === 'close-on-signal') onSignals(() => void close());
console.log('ready');
endings[ending]?.();
