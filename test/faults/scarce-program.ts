/** Runs operations in sequence for scarce.test.ts, which limits this process' file descriptors meanwhile. */

import { createServer, TritonError, type ServerOptions, type InferenceServer } from '../../src/index.js';
import { connectServer } from '../../src/client/index.js';
import { serveMetrics } from '../../src/metrics/serve.js';
import { row } from '../support/harness.js';
import { withPython } from '../python/harness.js';

const [root = ''] = process.argv.slice(2);
const open = (options: ServerOptions): Promise<InferenceServer> =>
  createServer(
    root,
    withPython({
      modelControlMode: 'explicit',
      ...options,
      logger: { error: () => undefined, warn: () => undefined },
    }),
  );
const server = await open({});
/** A server that does not complete configurations in a process, so that sharing memory comes first. */
const written = await open({ autoCompleteConfig: false });

const load =
  (name: string, on = server) =>
  async (): Promise<void> => {
    await on.loadModel(name);
    await on.infer(name, { x: row() });
    await on.unloadModel(name);
  };
const actions: Readonly<Record<string, () => Promise<void>>> = {
  python: load('python'),
  'python, written': load('python', written),
  javascript: load('javascript'),
  onnx: load('onnx'),
  // Each model is unloaded for the next one. A new server has no pause after a load that failed.
  lazy: async () => {
    const lazy = await open({ modelControlMode: 'none', load: 'lazy', memoryBudgetBytes: 1 });
    try {
      for (const name of ['onnx', 'javascript', 'onnx']) await lazy.infer(name, { x: row() });
    } finally {
      await lazy.close();
    }
  },
  restart: async () => {
    // The model ends its process. Restarts are repeated until the needed resources are available.
    await server.infer('dies', { x: row(1) });
  },
  alive: async () => {
    for (;;) {
      const done = await server.infer('dies', { x: row() }).then(
        () => true,
        () => false,
      );
      if (done) return;
    }
  },
  prepare: () => server.loadModel('dies').then(() => undefined),
  server: async () => {
    await (await open({})).close();
  },
  metrics: async () => {
    const endpoint = await serveMetrics(server, { port: 0, host: '127.0.0.1' });
    await endpoint.close();
  },
  client: async () => {
    await connectServer('http://127.0.0.1:9', { retries: 0 });
  },
  end: async () => {
    await Promise.all([server, written].map((one) => one.close({ timeoutMs: 0 })));
  },
};

process.on('message', (name: string) => {
  void actions[name]?.().then(
    () => process.send?.({ ok: true }),
    (error: unknown) =>
      process.send?.({
        ok: false,
        code: error instanceof TritonError ? error.code : '',
        reason: error instanceof TritonError ? error.reason : undefined,
        message: error instanceof Error ? error.message : String(error),
      }),
  );
});
process.send?.({ ok: true });
