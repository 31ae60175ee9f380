/** Feeds frames from native code, for threads and processes that end meanwhile. */
import { createRequire } from 'node:module';
import { createServer, nativeApi, type InferenceServer } from '../../../src/index.js';
import { addModel } from '../../support/models.js';

/** A server with y = x + 1, whose frames the addon of examples/native-frames feeds for ever. */
export async function feed(file: string): Promise<InferenceServer> {
  const dims = [16];
  const server = await createServer({
    models: {
      add: {
        config: {
          backend: 'onnxruntime',
          max_batch_size: 64,
          input: [{ name: 'x', data_type: 'TYPE_FP32', dims }],
          output: [{ name: 'y', data_type: 'TYPE_FP32', dims }],
          dynamic_batching: {},
        },
        files: { '1/model.onnx': addModel() },
      },
    },
  });
  // The example exports that.
  const frames = createRequire(import.meta.url)(file) as {
    start(api: unknown, engine: number, server: number, ...more: unknown[]): Promise<unknown>;
  };
  const { engine, id } = server.handle;
  void frames.start(nativeApi.external, engine, id, 'add', 2 ** 40, 64);
  const { inference_stats: before } = server.model('add').statistics();
  while (server.model('add').statistics().inference_stats.success.count < before.success.count + 1000) {
    await new Promise(setImmediate);
  }
  return server;
}
