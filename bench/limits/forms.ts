/**
 * The cost of the form of a request: the same 64 bytes through the identity backend, in each form that
 * callers may use.
 */
import { createServer, type InferenceServer } from '../../src/index.js';
import { writeRepository } from '../../test/support/repository.js';
import type { Measured } from './limits.js';
import { estimate } from '../reports/statistics.js';

/** Numbers of outstanding requests. */
const loads: readonly number[] = [64, 512];
/** How long a form is measured at a time, in milliseconds. */
const windowMs = 150;

/** A form of a request. */
interface Form {
  readonly name: string;
  /** The least ratio of its rate to that of the bare form; absent for the bare form itself. */
  readonly atLeast?: number;
  /** Makes a request for caller number `caller`. */
  ask(caller: number): Promise<unknown>;
}

const tensor = (name: string, datatype: string, dims: number): string =>
  `{ name: "${name}" data_type: TYPE_${datatype} dims: [ ${dims} ] }`;

const config = (inputs: string, outputs: string): string =>
  `backend: "identity" max_batch_size: 1024 dynamic_batching { }
input [ ${inputs} ] output [ ${outputs} ] instance_group [ { kind: KIND_CPU } ]`;

const repository = {
  fixed: {
    config: config(tensor('x', 'FP32', 16), tensor('y', 'FP32', 16)),
    versions: { '1': {} },
  },
  variable: {
    config: config(tensor('x', 'FP32', -1), tensor('y', 'FP32', -1)),
    versions: { '1': {} },
  },
  two: {
    config: config(
      `${tensor('a', 'INT64', -1)}, ${tensor('b', 'INT64', -1)}`,
      `${tensor('c', 'INT64', -1)}, ${tensor('d', 'INT64', -1)}`,
    ),
    versions: { '1': {} },
  },
};

function formsOf(server: InferenceServer): Form[] {
  const fixed = server.model('fixed');
  const variable = server.model('variable');
  const two = server.model('two');
  const callers = Math.max(...loads);
  // Each caller has its own array.
  const floats = Array.from({ length: callers }, (_, i) => new Float32Array(16).fill(i));
  const lists = floats.map((row) => [[...row]]);
  const longs = floats.map((_, i) => new BigInt64Array(8).fill(BigInt(i)));
  const signals = floats.map(() => new AbortController().signal);
  const { signal } = new AbortController();
  const shape = [1, 16];
  // The index is below `callers`.
  const of = <T>(list: readonly T[], caller: number): T => list[caller] as T;
  return [
    { name: 'bare', ask: (i) => fixed.infer({ x: of(floats, i) }) },
    { name: '{ data, shape }', atLeast: 0.7, ask: (i) => fixed.infer({ x: { data: of(floats, i), shape } }) },
    {
      name: '{ data, shape, datatype }',
      atLeast: 0.7,
      ask: (i) => fixed.infer({ x: { data: of(floats, i), shape, datatype: 'FP32' } }),
    },
    { name: 'an id', atLeast: 0.7, ask: (i) => fixed.infer({ x: of(floats, i) }, { id: `request ${i}` }) },
    { name: 'outputs', atLeast: 0.7, ask: (i) => fixed.infer({ x: of(floats, i) }, { outputs: ['y'] }) },
    { name: 'variable dims', atLeast: 0.7, ask: (i) => variable.infer({ x: of(floats, i) }) },
    {
      name: 'two variable INT64 inputs, two outputs',
      atLeast: 0.45,
      ask: (i) => two.infer({ a: of(longs, i), b: of(longs, i) }),
    },
    { name: 'one signal for all', atLeast: 0.55, ask: (i) => fixed.infer({ x: of(floats, i) }, { signal }) },
    {
      name: 'a signal each',
      atLeast: 0.35,
      ask: (i) => fixed.infer({ x: of(floats, i) }, { signal: of(signals, i) }),
    },
    { name: 'nested arrays', atLeast: 0.35, ask: (i) => fixed.infer({ x: of(lists, i) }) },
    {
      name: 'into an array of the caller',
      ask: (i) => fixed.infer({ x: of(floats, i) }, { into: { y: of(floats, i) } }),
    },
  ];
}

/** Requests per second of a form, with `callers` callers that each wait for one answer after another. */
async function rateOf(form: Form, callers: number): Promise<number> {
  let answered = 0;
  const start = performance.now();
  const end = start + windowMs;
  const call = async (caller: number): Promise<void> => {
    while (performance.now() < end) {
      for (let i = 0; i < 16; i++) await form.ask(caller);
      answered += 16;
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  return (answered * 1000) / (performance.now() - start);
}

/**
 * Measures the forms of a request. Each is compared with the bare form in each round.
 *
 * @param folder - Where models may be written.
 */
export async function measureForms(folder: string, rounds: number): Promise<Measured[]> {
  await writeRepository(folder, repository);
  const server = await createServer(folder, {
    modelControlMode: 'explicit',
    loadModels: Object.keys(repository),
  });
  try {
    const [bare, ...others] = formsOf(server);
    if (bare === undefined) return [];
    const measured: Measured[] = [];
    for (const callers of loads) {
      const ratios = new Map<Form, number[]>(others.map((form) => [form, []]));
      for (const form of [bare, ...others]) await rateOf(form, callers);
      for (let round = 0; round < rounds; round++) {
        for (const form of others) {
          // The bare form is measured before and after, because the machine's speed varies.
          const before = await rateOf(bare, callers);
          const rate = await rateOf(form, callers);
          const after = await rateOf(bare, callers);
          ratios.get(form)?.push((2 * rate) / (before + after));
        }
      }
      for (const [{ name, atLeast }, values] of ratios) {
        measured.push({
          what: `${name}, ${callers} outstanding`,
          value: estimate(values),
          unit: 'x',
          ...(atLeast === undefined ? {} : { limit: { atLeast } }),
          detail: 'of the requests/s of a bare typed array, inline',
        });
      }
    }
    return measured;
  } finally {
    await server.close();
  }
}
