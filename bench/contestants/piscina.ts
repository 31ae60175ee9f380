/** onnxruntime-node in two worker threads of a Piscina pool: off the main thread, without batches. */
import { createRequire } from 'node:module';
import type { Caller, Threads } from './contestant.js';
import type { Tensors } from './direct.js';
import type { Task, WorkerSetup } from './piscina-worker.js';

/** Number of workers in the pool. Each has a copy of the weights. */
export const workers = 2;

/** Number of threads of each worker's session, so that all together have as many as any other contestant. */
export function threadsOfWorker(threads: Threads): Threads {
  return threads === undefined ? undefined : Math.max(1, Math.floor(threads / workers));
}

/** The part of a pool that is used here. The package's own types fail some of this project's checks. */
interface Pool {
  run(task: Task): Promise<Float32Array>;
  close(): Promise<void>;
}

interface PiscinaPackage {
  readonly Piscina: new (options: {
    readonly filename: string;
    readonly minThreads: number;
    readonly maxThreads: number;
    readonly argv: readonly string[];
  }) => Pool;
}

/** Starts the workers. Each loads the model file at its first request. */
export function openPiscina(
  path: string,
  tensors: Tensors,
  items: readonly (Float32Array | BigInt64Array)[],
  threads: Threads,
): Caller {
  // Piscina is loaded here, so that benchmarks without it run where it is not installed.
  const { Piscina } = createRequire(import.meta.url)('piscina') as PiscinaPackage;
  const setup: WorkerSetup = { path, threads: threadsOfWorker(threads), output: tensors.output };
  const pool = new Piscina({
    filename: new URL('piscina-worker.js', import.meta.url).href,
    minThreads: workers,
    maxThreads: workers,
    argv: [JSON.stringify(setup)],
  });
  const { input, type, itemDims } = tensors;
  const dims = [1, ...itemDims];
  return {
    kind: 'caller',
    name: 'piscina',
    infer: (index) =>
      pool.run({ input, type, data: items[index % items.length] ?? new Float32Array(), dims }),
    // run() returned it.
    read: (answer) => answer as Float32Array,
    // The runtime would abort the process if a worker ended during a run. close() waits for the runs.
    close: () => pool.close(),
  };
}
