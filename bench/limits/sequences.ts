/** Measures the sequence batcher: sequences side by side, against requests without sequences in batches of the same size. */
import { createServer, type InferenceServer, type ModelConfigInput } from '../../src/index.js';
import { addModel } from '../../test/support/models.js';
import { runningSum } from '../../test/support/models/sequences.js';
import { estimate } from '../reports/statistics.js';
import type { Measured } from './limits.js';

/** How long a model is measured at a time, in milliseconds. */
const windowMs = 500;
/** Sequences at a time, and the rows of a batch. */
const live = 64;
/** Requests of a sequence. */
const steps = 32;
const tinyWidth = 16;
/** A state of 4 KiB. */
const stateWidth = 1024;

interface Contestant {
  readonly name: string;
  readonly width: number;
  readonly model: Uint8Array;
  readonly inSequences: boolean;
  readonly config: Partial<ModelConfigInput>;
}

function contestant(
  name: string,
  width: number,
  model: Uint8Array,
  config: Partial<ModelConfigInput>,
): Contestant {
  return { name, width, model, inSequences: config.sequence_batching !== undefined, config };
}

const state = [
  { input_name: 'sum', output_name: 'next', data_type: 'TYPE_FP32', dims: [stateWidth] },
] as const;

const contestants: readonly Contestant[] = [
  contestant('tiny', tinyWidth, addModel({ width: tinyWidth }), { dynamic_batching: {} }),
  contestant('tiny_direct', tinyWidth, addModel({ width: tinyWidth }), { sequence_batching: { direct: {} } }),
  contestant('tiny_oldest', tinyWidth, addModel({ width: tinyWidth }), {
    sequence_batching: { oldest: { max_candidate_sequences: live } },
  }),
  contestant('large', stateWidth, addModel({ width: stateWidth }), { dynamic_batching: {} }),
  contestant('large_state', stateWidth, runningSum(true, stateWidth), {
    sequence_batching: { oldest: { max_candidate_sequences: live }, state: [...state] },
  }),
];

function serve(): Promise<InferenceServer> {
  const models = contestants.map(({ name, width, model, config }) => {
    const whole: ModelConfigInput = {
      backend: 'onnxruntime',
      max_batch_size: live,
      input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [width] }],
      output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [width] }],
      instance_group: [{ kind: 'KIND_CPU' }],
      ...config,
    };
    return [name, { config: whole, files: { 'model.onnx': model } }] as const;
  });
  return createServer({ models: Object.fromEntries(models) });
}

/** Keeps one request of each caller outstanding for a while. Returns the requests per second. */
async function run(server: InferenceServer, { name, width, inSequences }: Contestant): Promise<number> {
  const model = server.model(name);
  const x = new Float32Array(width);
  let answered = 0;
  const start = performance.now();
  const isOver = (): boolean => performance.now() >= start + windowMs;
  const call = async (): Promise<void> => {
    while (!isOver()) {
      if (!inSequences) {
        await model.infer({ x });
        answered++;
        continue;
      }
      const sequence = model.sequence();
      for (let step = 1; step < steps; step++) await sequence.infer({ x });
      await sequence.end({ x });
      answered += steps;
    }
  };
  await Promise.all(Array.from({ length: live }, call));
  return (answered * 1000) / (performance.now() - start);
}

/** Measures the contestants in turn, in each round in another order. */
export async function measureSequences(rounds: number): Promise<Measured[]> {
  const server = await serve();
  try {
    for (const one of contestants) await run(server, one);
    const ratios = new Map<string, number[]>();
    for (let round = 0; round < rounds; round++) {
      const rates = new Map<string, number>();
      for (let i = 0; i < contestants.length; i++) {
        const one = contestants[(i + round) % contestants.length];
        if (one !== undefined) rates.set(one.name, await run(server, one));
      }
      for (const { name, width, inSequences } of contestants) {
        if (!inSequences) continue;
        const plain = rates.get(width === tinyWidth ? 'tiny' : 'large') ?? NaN;
        ratios.set(name, [...(ratios.get(name) ?? []), (rates.get(name) ?? NaN) / plain]);
      }
    }
    const row = (name: string, what: string, atLeast: number): Measured => ({
      what: `${live} sequences at a time, ${what}: requests/s`,
      value: estimate(ratios.get(name) ?? []),
      unit: 'x',
      limit: { atLeast },
      detail: 'of as many callers without sequences',
    });
    return [
      row('tiny_direct', 'direct', 0.6),
      row('tiny_oldest', 'oldest', 0.6),
      row('large_state', 'oldest with a state of 4 KiB', 0.5),
    ];
  } finally {
    await server.close();
  }
}
