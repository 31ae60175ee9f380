/** Does one thing after the other for scarce.test.ts, which takes file descriptors away from this process meanwhile. */

import { createServer, TritonError, type InferenceServer } from '../../src/index.js';
import { connectServer } from '../../src/client/index.js';
import { serveMetrics } from '../../src/metrics/serve.js';
import { row } from '../support/harness.js';
import { withPython } from '../python/harness.js';

const [root = ''] = process.argv.slice(2);
const open = (): Promise<InferenceServer> =>
  createServer(
    root,
    withPython({
      modelControlMode: 'explicit',
      logger: { error: () => undefined, warn: () => undefined },
    }),
  );
const server = await open();

const load = (name: string) => async (): Promise<void> => {
  await server.loadModel(name);
  await server.infer(name, { x: row() });
  await server.unloadModel(name);
};
const actions: Readonly<Record<string, () => Promise<void>>> = {
  python: load('python'),
  javascript: load('javascript'),
  onnx: load('onnx'),
  restart: async () => {
    // The model ends its process, which is started anew until there is what that needs.
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
    await (await open()).close();
  },
  metrics: async () => {
    const endpoint = await serveMetrics(server, { port: 0, host: '127.0.0.1' });
    await endpoint.close();
  },
  client: async () => {
    await connectServer('http://127.0.0.1:9', { retries: 0 });
  },
  end: () => server.close({ timeoutMs: 0 }),
};

process.on('message', (name: string) => {
  void actions[name]?.().then(
    () => process.send?.({ ok: true }),
    (error: unknown) =>
      process.send?.({
        ok: false,
        code: error instanceof TritonError ? error.code : '',
        message: error instanceof Error ? error.message : String(error),
      }),
  );
});
process.send?.({ ok: true });
