/**
 * The soak: requests of mixed sizes from two environments, with cancellations, reloads, and servers that come and
 * go.
 *
 *     npm test -- soak [--requests 1000000 --out build/soak --seed 1]
 *
 * Writes samples.csv and samples.svg; fails if resident or external memory grows over the last 80 % beyond its
 * confidence interval, or if handles, threads or files are not back at what they were after the first tenth.
 */

import { mkdir, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { createServer } from '../../src/index.js';
import { addModel } from '../support/models.js';
import { writeRepository } from '../support/repository.js';
import { allocatorIsSteady } from './allocator.js';
import { soakLoad, type LoadResult } from './load.js';
import { report } from './report.js';
import { sample, type Sample } from './sample.js';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '1000000' },
    out: { type: 'string', default: 'build/soak' },
    seed: { type: 'string', default: '1' },
  },
});
const requests = Number(values.requests);
const seed = Number(values.seed);
if (!(requests >= 10_000) || !globalThis.gc) {
  console.error(
    'soak: needs --requests of at least 10000, and node --expose-gc (npm test -- soak does that)',
  );
  process.exit(2);
}

if (!allocatorIsSteady()) process.exit();

/** Number of rounds of load. Each runs on the main thread and in a worker of its own. */
const rounds = 100;

const config = (backend: string, group: string): string => `backend: "${backend}" max_batch_size: 64
input { name: "x" data_type: TYPE_FP32 dims: -1 }
output { name: "y" data_type: TYPE_FP32 dims: -1 }
dynamic_batching { }
${group}`;

const folder = join(tmpdir(), `tritonts-soak-${process.pid}`);
await mkdir(folder, { recursive: true });
const model = addModel({ width: 'T' });
const repository = await writeRepository(folder, {
  identity: {
    config: config('identity', 'instance_group { count: 2 kind: KIND_CPU }'),
    versions: { '1': {} },
  },
  add: { config: config('onnxruntime', ''), versions: { '1': model } },
  other: {
    config: config('onnxruntime', 'instance_group { count: 2 kind: KIND_CPU }'),
    versions: { '1': model },
  },
});

const begin = performance.now();
const samples: Sample[] = [];
const total = { answered: 0, cancelled: 0, refused: 0 };
const server = await createServer(repository, { modelControlMode: 'explicit', loadModels: ['*'] });

async function inWorker(count: number, workerSeed: number): Promise<LoadResult> {
  const worker = new Worker(new URL('./worker.js', import.meta.url), {
    workerData: { handle: server.handle, count, seed: workerSeed },
  });
  return new Promise((resolve, reject) => {
    let result: LoadResult | undefined;
    worker.once('message', (message: LoadResult) => {
      result = message;
    });
    worker.once('error', reject);
    worker.once('exit', (code) => {
      if (result) resolve(result);
      else reject(new Error(`the worker left with ${code} and no result`));
    });
  });
}

// This is the largest burst that the environment ever keeps pages for, so the number of pages does not grow
// later.
const burst = { x: new Float32Array(3000) };
await Promise.all(Array.from({ length: 3000 }, () => server.infer('identity', burst)));

for (let round = 0; round < rounds; round++) {
  const count = Math.ceil(requests / rounds / 2);
  // Beside the load, a model in use is reloaded, another one is unloaded and loaded, and a server starts and
  // closes.
  const now = new Date(Date.now() + round * 1000);
  await utimes(join(repository, 'add', '1', 'model.onnx'), now, now);
  const results = await Promise.all([
    soakLoad(server, count, seed + 2 * round),
    inWorker(count, seed + 2 * round + 1),
    server.loadModel('add'),
    server.unloadModel('other').then(() => server.loadModel('other')),
    (async (): Promise<void> => {
      if (round % 5 !== 0) return;
      const second = await createServer(repository, { modelControlMode: 'explicit', loadModels: ['add'] });
      void second.model('add').infer({ x: new Float32Array(100) });
      await second.close();
    })(),
  ]);
  for (const result of results.slice(0, 2) as LoadResult[]) {
    total.answered += result.answered;
    total.cancelled += result.cancelled;
    total.refused += result.refused;
  }
  samples.push(await sample((round + 1) * count * 2, begin));
  if (process.stderr.isTTY) process.stderr.write(`\r${round + 1} of ${rounds} rounds`);
}
await server.close();
if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');

const failed = await report(samples, values.out, {
  name: 'requests',
  unit: 1e6,
  unitName: 'million requests',
});
console.log(
  `${total.answered} answered, ${total.cancelled} cancelled, ${total.refused} refused for too much in flight, ` +
    `${((performance.now() - begin) / 1000).toFixed(0)} s, seed ${seed}`,
);
process.exitCode = failed ? 1 : 0;
