/**
 * Compares models in JavaScript with the same functions in a Piscina pool of one worker, as users write them today.
 */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { createServer, type InferenceServer } from '../../src/index.js';
import { writeRepository, type RepositoryModel } from '../../test/support/repository.js';
import type { Measured } from './limits.js';
import { LoopDelay } from '../measuring/loop-delay.js';
import { estimate } from '../reports/statistics.js';

/** How long each contestant is measured at a time, in milliseconds. */
const windowMs = 250;
/** Warm-up rounds: for about a second V8 makes both sides faster. */
const warmUp = 4;
/** Number of FP32 values of an image of 602 KB. */
const pixels = 3 * 224 * 224;

/** How many calls the calling model makes for each request, in sequence. */
const callsAtOnce = 500;

const functions = `
  const add = (x) => { const y = new Float32Array(x.length); for (let i = 0; i < x.length; i++) y[i] = x[i] + 1; return y; };
  const read = (x) => { let sum = 0; for (let i = 0; i < x.length; i += 16) sum += x[i]; return sum; };
  const compute = () => { const end = performance.now() + 200; while (performance.now() < end); return 0; };`;

function model(body: string, width: number, out: number): RepositoryModel {
  return {
    config: `backend: "javascript" max_batch_size: 512 dynamic_batching { }
input [ { name: "x" data_type: TYPE_FP32 dims: [ ${width} ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ ${out} ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ]`,
    versions: {
      '1': {
        'model.mjs': `${functions}
export default { execute: (requests) => requests.map(({ inputs: { x } }) => ({ y: ${body} })) };`,
      },
    },
  };
}

const repository = {
  js_add: model('add(x.data)', 16, 16),
  js_image: model('Float32Array.of(read(x.data))', pixels, 1),
  js_calls: {
    ...model('x', 1, 1),
    versions: {
      '1': {
        'model.mjs': `export default class {
  initialize({ server }) { this.add = server.model('js_add'); }
  async execute(requests) {
    const x = new Float32Array(16);
    for (let i = 0; i < ${callsAtOnce}; i++) await this.add.infer({ x }, { parent: requests[0] });
    return requests.map(({ inputs: { x } }) => ({ y: x }));
  }
}`,
      },
    },
  },
  js_compute: model('Float32Array.of(compute())', 16, 1),
};

interface Pool {
  run(task: Float32Array, options: { readonly name: string }): Promise<unknown>;
  destroy(): Promise<void>;
}

function pool(more: object): Pool {
  // The package's own types fail some of this project's checks.
  const { Piscina } = createRequire(import.meta.url)('piscina') as {
    readonly Piscina: new (options: object) => Pool;
  };
  return new Piscina({
    filename: fileURLToPath(new URL('javascript-worker.js', import.meta.url)),
    minThreads: 1,
    maxThreads: 1,
    ...more,
  });
}

/** Calls per second, with `callers` callers that each await one answer after another. */
async function rateOf(
  call: (x: Float32Array) => Promise<unknown>,
  callers: number,
  width: number,
): Promise<number> {
  let answered = 0;
  const start = performance.now();
  const end = start + windowMs;
  const work = async (caller: number): Promise<void> => {
    const x = new Float32Array(width).fill(caller);
    while (performance.now() < end) {
      await call(x);
      answered++;
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => work(caller)));
  return (answered * 1000) / (performance.now() - start);
}

/** A row: the model, its load, and the least ratio of the rates. */
interface Row {
  readonly what: string;
  readonly model: keyof typeof repository;
  readonly name: string;
  readonly callers: number;
  readonly width: number;
  readonly many?: true;
  readonly atLeast: number;
}

const rows: readonly Row[] = [
  { what: 'JavaScript, add, one caller', model: 'js_add', name: 'add', callers: 1, width: 16, atLeast: 1.2 },
  {
    what: 'JavaScript, add, 64 outstanding',
    model: 'js_add',
    name: 'add',
    callers: 64,
    width: 16,
    atLeast: 12,
  },
  {
    what: 'JavaScript, add, 512 outstanding',
    model: 'js_add',
    name: 'add',
    callers: 512,
    width: 16,
    atLeast: 15,
  },
  {
    what: 'JavaScript, add, 512 outstanding, 64 tasks a worker',
    model: 'js_add',
    name: 'add',
    callers: 512,
    width: 16,
    many: true,
    atLeast: 5,
  },
  {
    what: 'JavaScript, image of 602 KB',
    model: 'js_image',
    name: 'read',
    callers: 1,
    width: pixels,
    atLeast: 2,
  },
];

/** The 99th percentile of the event loop's delay during `work`, in milliseconds. */
async function delayOf(work: () => Promise<unknown>): Promise<number> {
  const watch = new LoopDelay();
  await work();
  return watch.stop().p99;
}

/**
 * Compares the time that a model waits for a call of a tiny model with the main thread's time for the same call.
 */
async function callTimes(server: InferenceServer, rounds: number): Promise<Measured> {
  const ratios: number[] = [];
  const x = new Float32Array(16);
  for (let round = -1; round < rounds; round++) {
    const start = performance.now();
    for (let i = 0; i < callsAtOnce; i++) await server.infer('js_add', { x });
    const middle = performance.now();
    await server.infer('js_calls', { x: new Float32Array(1) });
    if (round >= 0) ratios.push((performance.now() - middle) / (middle - start));
  }
  return {
    what: 'JavaScript, a call of a model by a model, with its parent',
    value: estimate(ratios),
    unit: 'x',
    detail: 'of the time of infer on the main thread',
  };
}

/**
 * Measures all rows in each round.
 *
 * @param folder - Where the models may be written.
 */
export async function measureJavaScript(folder: string, rounds: number): Promise<Measured[]> {
  await writeRepository(folder, repository);
  const options = { modelControlMode: 'explicit', loadModels: Object.keys(repository) } as const;
  const server: InferenceServer = await createServer(folder, options);
  const plain = pool({});
  const many = pool({ concurrentTasksPerWorker: 64 });
  try {
    const measured: Measured[] = [];
    for (const { what, model: asked, name, callers, width, atLeast, ...row } of rows) {
      const other = row.many ? many : plain;
      const ours = (x: Float32Array): Promise<unknown> => server.infer(asked, { x });
      const theirs = (x: Float32Array): Promise<unknown> => other.run(x, { name });
      const ratios: number[] = [];
      for (let round = -warmUp; round < rounds; round++) {
        // Measure the reference before and after, because the machine's speed varies.
        const before = await rateOf(theirs, callers, width);
        const rate = await rateOf(ours, callers, width);
        const after = await rateOf(theirs, callers, width);
        if (round >= 0) ratios.push((2 * rate) / (before + after));
      }
      measured.push({
        what,
        value: estimate(ratios),
        unit: 'x',
        limit: { atLeast },
        detail: `of the calls/s of piscina.run, one worker${row.many ? ', concurrentTasksPerWorker: 64' : ''}`,
      });
    }
    measured.push(await callTimes(server, rounds));
    const late: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const idle = await delayOf(() => new Promise((resolve) => setTimeout(resolve, 400)));
      const busy = await delayOf(async () => {
        for (let i = 0; i < 2; i++) await server.infer('js_compute', { x: new Float32Array(16) });
      });
      late.push(busy - idle);
    }
    measured.push({
      what: 'JavaScript, timers beside 200 ms of computing',
      value: estimate(late),
      unit: 'ms',
      limit: { atMost: 1 },
      detail: 'p99 beyond that of an idle loop',
    });
    return measured;
  } finally {
    await server.close();
    await plain.destroy();
    await many.destroy();
  }
}
