/** Compares models in Python with the identity backend on a thread, and with copies of memory. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createServer, type InferenceServer } from '../../src/index.js';
import { writeRepository, type RepositoryModel } from '../../test/support/repository.js';
import type { Measured } from './limits.js';
import { estimate } from '../reports/statistics.js';

/** How long each side is measured at a time, in milliseconds. */
const windowMs = 250;
/** Number of FP32 values of an image of 602 KB. */
const pixels = 3 * 224 * 224;
/** How many calls the calling model makes for each request, in sequence. */
const callsAtOnce = 200;

/** The Python of the environment that `npm test -- python` creates. */
const made = fileURLToPath(new URL('../../../.venv-python/bin/python', import.meta.url));

function python(execute: string, width: number): RepositoryModel {
  return {
    config: config('python', width),
    versions: {
      '1': {
        'model.py': `import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
${execute}
`,
      },
    },
  };
}

function config(backend: string, width: number): string {
  return `backend: "${backend}" max_batch_size: 64 dynamic_batching { }
input [ { name: "x" data_type: TYPE_FP32 dims: [ ${width} ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ ${width} ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ]`;
}

const each = (value: string): string => `        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "x").as_numpy()
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("y", ${value})]))
        return responses`;

const repository: Readonly<Record<string, RepositoryModel>> = {
  py_add: python(each('x + 1'), 16),
  py_image: python(each('x'), pixels),
  py_calls: python(
    `        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "x")
            for _ in range(${callsAtOnce}):
                pb_utils.InferenceRequest("py_same", ["y"], [x]).exec()
${each('x')}`,
    16,
  ),
  py_same: { config: config('identity', 16), versions: { '1': {} } },
};

/** Microseconds per request, with one caller. */
async function timeOf(server: InferenceServer, model: string, width: number): Promise<number> {
  const x = new Float32Array(width);
  let answered = 0;
  const start = performance.now();
  while (performance.now() < start + windowMs) {
    await server.infer(model, { x });
    answered++;
  }
  return ((performance.now() - start) * 1000) / answered;
}

/** Requests per second of `callers` callers, and this process' microseconds of CPU time per request. */
async function rateOf(server: InferenceServer, callers: number): Promise<{ rate: number; cpuUs: number }> {
  let answered = 0;
  const before = process.cpuUsage();
  const start = performance.now();
  const work = async (): Promise<void> => {
    const x = new Float32Array(16);
    while (performance.now() < start + windowMs) {
      await server.infer('py_add', { x });
      answered++;
    }
  };
  await Promise.all(Array.from({ length: callers }, work));
  const { user, system } = process.cpuUsage(before);
  return { rate: (answered * 1000) / (performance.now() - start), cpuUs: (user + system) / answered };
}

/** Images of callers: the input, and the array for the output. */
const images = Array.from({ length: 16 }, () => ({
  x: new Float32Array(pixels).fill(1),
  y: new Float32Array(pixels),
}));

/**
 * Bytes per microsecond of copies between `pairs` pairs of arrays, in turn. A single pair stays in the core's
 * cache.
 */
function copySpeed(pairs: number): number {
  const start = performance.now();
  for (let i = 0; i < 192; i++) {
    const { x, y } = images[i % pairs] ?? { x: new Float32Array(0), y: new Float32Array(0) };
    y.set(x);
  }
  return (192 * pixels * 4) / ((performance.now() - start) * 1000);
}

/**
 * Bytes per microsecond, in and out, of callers' images. `into`: outputs go to the callers' arrays, not to new
 * ones.
 */
async function imageSpeed(server: InferenceServer, callers: number, into: boolean): Promise<number> {
  let answered = 0;
  const start = performance.now();
  const work = async ({ x, y }: { x: Float32Array; y: Float32Array }): Promise<void> => {
    while (performance.now() < start + windowMs) {
      await server.infer('py_image', { x }, into ? { into: { y } } : {});
      answered++;
    }
  };
  await Promise.all(images.slice(0, callers).map(work));
  return (answered * 2 * pixels * 4) / ((performance.now() - start) * 1000);
}

/** The loads with images. The first is the required figure. */
const imageWays = [
  { callers: 16, into: true },
  { callers: 4, into: true },
  { callers: 1, into: true },
  { callers: 16, into: false },
  { callers: 1, into: false },
] as const;

/**
 * Measures all rows in each round. Without a Python that has numpy there are no rows.
 *
 * @param folder - Where the models may be written.
 */
export async function measurePython(
  folder: string,
  rounds: number,
  note: (text: string) => void,
): Promise<Measured[]> {
  if (!existsSync(made)) {
    note('no rows of Python models: npm test -- python makes the Python that they need');
    return [];
  }
  await writeRepository(folder, repository);
  const server = await createServer(folder, {
    modelControlMode: 'explicit',
    loadModels: Object.keys(repository),
    inline: 'off',
    backendConfig: { python: { executable: made } },
  });
  const more: number[] = [];
  const rates: number[] = [];
  const cpu: number[] = [];
  const copies = imageWays.map(() => ({ own: [] as number[], cached: [] as number[] }));
  const calls: number[] = [];
  try {
    for (let round = -1; round < rounds; round++) {
      const before = await timeOf(server, 'py_same', 16);
      const one = await timeOf(server, 'py_add', 16);
      const after = await timeOf(server, 'py_same', 16);
      const { rate, cpuUs } = await rateOf(server, 64);
      const own = copySpeed(images.length);
      const cached = copySpeed(1);
      const speeds: number[] = [];
      for (const { callers, into } of imageWays) speeds.push(await imageSpeed(server, callers, into));
      const call = (await timeOf(server, 'py_calls', 16)) / callsAtOnce;
      if (round < 0) continue;
      more.push(one - (before + after) / 2);
      rates.push(rate);
      cpu.push(cpuUs);
      for (const [i, speed] of speeds.entries()) {
        copies[i]?.own.push(speed / own);
        copies[i]?.cached.push(speed / cached);
      }
      calls.push(call);
    }
  } finally {
    await server.close();
  }
  return [
    {
      what: 'Python, add of 16 floats, one caller',
      value: estimate(more),
      unit: 'µs',
      limit: { atMost: 100 },
      detail: 'more than the identity backend on a thread',
    },
    {
      what: 'Python, add of 16 floats, 64 outstanding',
      value: estimate(rates),
      unit: '/s',
      limit: { atLeast: 40_000 },
    },
    {
      what: 'Python, the same: processor time of this process',
      value: estimate(cpu),
      unit: 'µs',
      detail: 'for each request',
    },
    ...imageWays.flatMap(({ callers, into }, i): Measured[] => {
      const what = `Python, 602 KB in and out, ${callers} at once, ${into ? '`into`' : 'new arrays'}`;
      const { own = [], cached = [] } = copies[i] ?? {};
      return [
        {
          what,
          value: estimate(own),
          unit: 'x',
          ...(i === 0 && { limit: { atLeast: 0.5 } }),
          detail: 'of the bytes a second of copies between the same 16 pairs of arrays',
        },
        {
          what,
          value: estimate(cached),
          unit: 'x',
          detail: 'of those of a copy that stays in the cache of the core',
        },
      ];
    }),
    {
      what: 'Python, a call of a tiny model',
      value: estimate(calls),
      unit: 'µs',
      limit: { atMost: 60 },
      detail: 'for each call',
    },
  ];
}
