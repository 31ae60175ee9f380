/** The first request after a load beside those that follow it, of models with and without a warm-up. */
import { createServer, type Inputs, type ModelConfigInput } from '../src/index.js';
import { addModel, textEncoderModel } from '../test/support/models.js';
import type { Measured } from './limits.js';
import { estimate, median } from './statistics.js';

/** Loads a round. */
const loads = 5;
/** Requests after the first one that it is compared with. */
const followers = 8;
/** Tokens of a text. */
const tokens = 32;

interface Warmed {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly config: ModelConfigInput;
  readonly inputs: Inputs;
  readonly dims: readonly number[];
}

const cases: readonly Warmed[] = [
  {
    name: 'tiny',
    bytes: addModel(),
    config: {
      input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [16] }],
      output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [16] }],
    },
    inputs: { x: new Float32Array(16) },
    dims: [16],
  },
  {
    name: `text of ${tokens} tokens`,
    bytes: textEncoderModel(),
    config: {
      input: [{ name: 'input_ids', data_type: 'TYPE_INT64', dims: [-1] }],
      output: [{ name: 'embedding', data_type: 'TYPE_FP32', dims: [384] }],
    },
    inputs: { input_ids: new BigInt64Array(tokens) },
    dims: [tokens],
  },
];

function configOf({ config, dims }: Warmed, warm: boolean): ModelConfigInput {
  const [input] = config.input ?? [];
  const sample = {
    name: 'usual',
    batch_size: 1,
    inputs: { [input?.name ?? '']: { data_type: input?.data_type, dims, zero_data: true } },
  };
  return {
    ...config,
    backend: 'onnxruntime',
    max_batch_size: 32,
    dynamic_batching: {},
    instance_group: [{ kind: 'KIND_CPU' }],
    model_warmup: warm ? [sample] : [],
  };
}

/** The time of the first request after a load, divided by the median of those behind it. */
async function firstBeside(one: Warmed, warm: boolean): Promise<number> {
  const files = { 'model.onnx': one.bytes };
  const server = await createServer({ models: { model: { config: configOf(one, warm), files } } });
  try {
    const model = server.model('model');
    const times: number[] = [];
    for (let i = 0; i <= followers; i++) {
      // What a load leaves to be done does not count.
      await new Promise((resolve) => setTimeout(resolve, 2));
      const sent = performance.now();
      await model.infer(one.inputs);
      times.push(performance.now() - sent);
    }
    const [first = NaN, ...others] = times;
    return first / median(others);
  } finally {
    await server.close();
  }
}

/** Measures models with a warm-up and without, by turns. */
export async function measureWarmup(rounds: number): Promise<Measured[]> {
  const measured: Measured[] = [];
  for (const one of cases) {
    const ratios: Record<'with' | 'without', number[]> = { with: [], without: [] };
    // This library's own code is warm before.
    for (let i = 0; i < 3; i++) await firstBeside(one, true);
    for (let round = 0; round < rounds; round++) {
      const turn: Record<'with' | 'without', number[]> = { with: [], without: [] };
      for (let i = 0; i < loads; i++) {
        turn.with.push(await firstBeside(one, true));
        turn.without.push(await firstBeside(one, false));
      }
      ratios.with.push(median(turn.with));
      ratios.without.push(median(turn.without));
    }
    for (const how of ['with', 'without'] as const) {
      measured.push({
        what: `${one.name}: the first request, ${how} a warm-up`,
        value: estimate(ratios[how]),
        unit: 'x',
        detail: `of the time of the ${followers} that follow it`,
      });
    }
  }
  return measured;
}
