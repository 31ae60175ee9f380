/** Compares the first request after a load with the following ones, for models with and without a warm-up. */
import { createServer, type InferenceServer, type Inputs, type ModelConfigInput } from '../../src/index.js';
import { addModel, textEncoderModel } from '../../test/support/models.js';
import type { Measured } from './limits.js';
import { estimate, median } from '../reports/statistics.js';

/** Loads per round. */
const loads = 5;
/** The number of following requests with which the first one is compared. */
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

/**
 * Loads the model into a busy server. Returns the time of its first request, divided by the median of the next
 * ones.
 */
async function firstBeside(server: InferenceServer, one: Warmed, warm: boolean): Promise<number> {
  const model = server.model(`${one.name}, ${warm ? 'with' : 'without'}`);
  await server.loadModel(model.name);
  const times: number[] = [];
  for (let i = 0; i <= followers; i++) {
    // Requests to another model keep the server itself warm.
    for (let k = 0; k < 20; k++) await server.infer('other', { x: new Float32Array(16) });
    const sent = performance.now();
    await model.infer(one.inputs);
    times.push(performance.now() - sent);
  }
  await server.unloadModel(model.name);
  const [first = NaN, ...others] = times;
  return first / median(others);
}

/** Measures models with a warm-up and without, by turns. */
export async function measureWarmup(rounds: number): Promise<Measured[]> {
  const models: Record<string, { config: ModelConfigInput; files: Record<string, Uint8Array> }> = {};
  for (const one of cases) {
    for (const warm of [true, false]) {
      const files = { 'model.onnx': one.bytes };
      models[`${one.name}, ${warm ? 'with' : 'without'}`] = { config: configOf(one, warm), files };
    }
  }
  const [tiny] = cases;
  if (!tiny) return [];
  models['other'] = { config: configOf(tiny, true), files: { 'model.onnx': tiny.bytes } };
  const server = await createServer({ models, modelControlMode: 'explicit', loadModels: ['other'] });
  try {
    const measured: Measured[] = [];
    for (const one of cases) {
      const ratios: Record<'with' | 'without', number[]> = { with: [], without: [] };
      for (let round = -1; round < rounds; round++) {
        const turn: Record<'with' | 'without', number[]> = { with: [], without: [] };
        for (let i = 0; i < loads; i++) {
          turn.with.push(await firstBeside(server, one, true));
          turn.without.push(await firstBeside(server, one, false));
        }
        // Round -1 is not kept: V8 compiles this library's own code in it.
        if (round < 0) continue;
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
  } finally {
    await server.close();
  }
}
