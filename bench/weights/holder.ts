/**
 * A process that holds a model's weights and has answered from every thread: node holder.js <ours|piscina>
 * <repository> <model> <input length> <workers>. It sends its resident bytes.
 */
import { Worker } from 'node:worker_threads';
import { createServer } from '../../src/index.js';
import { openPiscina } from '../contestants/piscina.js';
import type { HolderQuestion } from './attached.js';

const [who = '', repository = '', model = '', length = '', workers = ''] = process.argv.slice(2);
const item = new Float32Array(Number(length));

async function ours(): Promise<void> {
  const server = await createServer(repository, { modelControlMode: 'explicit', loadModels: [model] });
  const { instances } = server.model(model).runtimeInfo();
  // There are more requests at once than instances, so each instance runs.
  await Promise.all(
    Array.from({ length: 4 * instances.length }, () => server.model(model).infer({ x: item })),
  );
  const workerData: HolderQuestion = { handle: server.handle, model, length: item.length };
  await Promise.all(
    Array.from(
      { length: Number(workers) },
      () =>
        new Promise((resolve, reject) => {
          const worker = new Worker(new URL('attached.js', import.meta.url), { workerData });
          worker.once('message', resolve);
          worker.once('error', reject);
        }),
    ),
  );
}

async function piscina(): Promise<void> {
  const tensors = { input: 'x', output: 'y', type: 'float32', itemDims: [item.length] } as const;
  const pool = openPiscina(`${repository}/${model}/1/model.onnx`, tensors, [item], 2);
  await Promise.all(Array.from({ length: 16 }, (_, i) => pool.infer(i)));
}

await (who === 'ours' ? ours() : piscina());
globalThis.gc?.();
process.send?.(process.memoryUsage.rss(), undefined, undefined, () => process.exit());
