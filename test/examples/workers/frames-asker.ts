/** A worker that is terminated while native code waits for a model that is a function of this thread. */
import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { createServer, nativeApi } from '../../../src/index.js';

const { file } = workerData as { readonly file: string };
const dims = [16];
const server = await createServer({
  models: {
    asked: {
      config: {
        max_batch_size: 8,
        input: [{ name: 'x', data_type: 'TYPE_FP32', dims }],
        output: [{ name: 'y', data_type: 'TYPE_FP32', dims }],
      },
      execute: () => {
        parentPort?.postMessage('asked');
        return new Promise<never>(() => undefined);
      },
    },
  },
});
// The example exports that.
const frames = createRequire(import.meta.url)(file) as {
  start(api: unknown, engine: number, server: number, ...more: unknown[]): Promise<unknown>;
};
const { engine, id } = server.handle;
void frames.start(nativeApi.external, engine, id, 'asked', 1000, 2);
setInterval(() => undefined, 1000);
