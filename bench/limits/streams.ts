/**
 * Compares streams of a JavaScript model with a worker that posts messages, and measures streams of a native
 * backend.
 */
import { Worker } from 'node:worker_threads';
import { createServer, type InferResult } from '../../src/index.js';
import { writeRepository, type RepositoryModel } from '../../test/support/repository.js';
import { Child } from '../measuring/child.js';
import type { Measured } from './limits.js';
import { estimate } from '../reports/statistics.js';

/** How many responses each measurement reads, over all streams. */
const responses = 40_000;
/** Streams at once. */
const many = [1, 16, 64] as const;
/** Responses that the native backend is ahead of its reader. */
const ahead = [1, 16, 64] as const;

const model: RepositoryModel = {
  config: `backend: "javascript" max_batch_size: 64
input [ { name: "count" data_type: TYPE_INT32 dims: [ 1 ] } ]
output [ { name: "y" data_type: TYPE_INT32 dims: [ 1 ] } ]
model_transaction_policy { decoupled: true }`,
  versions: {
    '1': {
      'model.mjs': `
        function* count(n) { for (let k = 0; k < n; k++) yield { y: { data: Int32Array.of(k), shape: [1, 1] } }; }
        export default { execute: (requests) => requests.map(({ inputs }) => count(inputs.count.data[0])) };`,
    },
  },
};

/** The users' solution today: a worker that is up to 16 messages ahead of its reader. */
const posting = `
  const { parentPort } = require('node:worker_threads');
  const streams = new Map();
  parentPort.on('message', ({ stream, count, read }) => {
    const one = streams.get(stream) ?? { next: 0, count, unread: 0 };
    streams.set(stream, one);
    one.unread -= read;
    while (one.next < one.count && one.unread < 16) {
      one.unread++;
      parentPort.postMessage({ stream, y: Int32Array.of(one.next++) });
    }
    if (one.next === one.count) streams.delete(stream);
  });`;

/** Reads streams concurrently, and returns the responses per second. */
export async function readRate(streams: readonly AsyncIterable<InferResult>[]): Promise<number> {
  let read = 0;
  const start = performance.now();
  await Promise.all(
    streams.map(async (stream) => {
      for await (const { outputs } of stream) read += outputs['y']?.data.length ?? 0;
    }),
  );
  return (read * 1000) / (performance.now() - start);
}

/** Reads messages of the worker, which is told after every eighth message. Returns the messages per second. */
function postedRate(worker: Worker, streams: number): Promise<number> {
  const count = Math.ceil(responses / streams);
  const untold = new Array<number>(streams).fill(0);
  let left = count * streams;
  const start = performance.now();
  return new Promise((resolve) => {
    const take = ({ stream }: { readonly stream: number }): void => {
      untold[stream] = (untold[stream] ?? 0) + 1;
      if (untold[stream] === 8) {
        untold[stream] = 0;
        worker.postMessage({ stream, count, read: 8 });
      }
      if (--left > 0) return;
      worker.off('message', take);
      resolve((count * streams * 1000) / (performance.now() - start));
    };
    worker.on('message', take);
    for (let stream = 0; stream < streams; stream++) worker.postMessage({ stream, count, read: 0 });
  });
}

/**
 * Measures streams.
 *
 * @param folder - Where models may be written.
 */
export async function measureStreams(folder: string, rounds: number): Promise<Measured[]> {
  await writeRepository(folder, { s: model });
  const server = await createServer(folder, { modelControlMode: 'explicit', loadModels: ['s'] });
  const worker = new Worker(posting, { eval: true });
  const child = new Child<{ readonly ahead: number; readonly responses: number }>(
    new URL('streams-child.js', import.meta.url),
    [`${folder}-native`],
  );
  try {
    const measured: Measured[] = [];
    for (const streams of many) {
      const count = [[Math.ceil(responses / streams)]];
      const ratios: number[] = [];
      for (let round = -1; round < rounds; round++) {
        // Measure the reference before and after, because the machine's speed varies.
        const before = await postedRate(worker, streams);
        const rate = await readRate(Array.from({ length: streams }, () => server.stream('s', { count })));
        const after = await postedRate(worker, streams);
        if (round >= 0) ratios.push((2 * rate) / (before + after));
      }
      measured.push({
        what: `stream of a JavaScript model, ${streams} at once`,
        value: estimate(ratios),
        unit: 'x',
        detail: 'of the responses/s of a worker that posts messages, 16 ahead',
      });
    }
    await child.answer();
    for (const number of ahead) {
      const each: number[] = [];
      for (let round = -1; round < rounds; round++) {
        const rate = await child.ask({ ahead: number, responses });
        if (round >= 0) each.push(1e9 / rate);
      }
      measured.push({
        what: `stream of a native backend, ${number} ahead`,
        value: estimate(each),
        unit: 'ns',
        detail: "a response; with the tests' build of the addon, which has the backend",
      });
    }
    return measured;
  } finally {
    await server.close();
    await worker.terminate();
    await child.close();
  }
}
