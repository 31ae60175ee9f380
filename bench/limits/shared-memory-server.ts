/** The thread with the server of shared-memory.ts. */
import { parentPort } from 'node:worker_threads';
import { serveHttp } from '../../src/endpoints/http/serve.js';
import { createServer } from '../../src/index.js';
import {
  firstOffset,
  imageBytes,
  imageShape,
  regionBytes,
  regionName,
  type InProcess,
  type Served,
} from './shared-memory.js';

const dims = [...imageShape];
const server = await createServer({
  models: {
    image: {
      config: {
        backend: 'identity',
        max_batch_size: 8,
        input: [{ name: 'x', data_type: 'TYPE_FP32', dims }],
        output: [{ name: 'y', data_type: 'TYPE_FP32', dims }],
        dynamic_batching: {},
      },
      files: { '1/empty': new Uint8Array() },
    },
  },
});
server.sharedMemory.create(`${regionName}-${process.pid}`, firstOffset + regionBytes);
server.sharedMemory.register(regionName, {
  key: `${regionName}-${process.pid}`,
  byteSize: firstOffset + regionBytes,
});
const endpoint = await serveHttp(server, { port: 0, clientSharedMemory: true });
parentPort?.postMessage({ port: endpoint.address.port } satisfies Served);

/** Keeps so many requests under way for a while. Returns the requests a second. */
async function rateOf({ atOnce, windowMs }: InProcess): Promise<number> {
  const model = server.model('image');
  const x = new Float32Array(imageBytes / 4);
  const start = performance.now();
  let answered = 0;
  const call = async (): Promise<void> => {
    while (performance.now() < start + windowMs) {
      await model.infer({ x });
      answered++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, call));
  return (answered * 1000) / (performance.now() - start);
}

parentPort?.on('message', (question: InProcess) => {
  void rateOf(question).then((rate) => {
    parentPort?.postMessage({ ...question, rate } satisfies InProcess);
  });
});
