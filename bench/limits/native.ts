/** Measures the C API: an addon's thread beside JavaScript, and a C caller beside the engine's own port. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createServer, nativeApi, type InferenceServer } from '../../src/index.js';
import { addModel } from '../../test/support/models.js';
import { buildProgram, LoopProgram } from '../contestants/bare-loop.js';
import { measureInTurn } from '../measuring/turns.js';
import { estimate } from '../reports/statistics.js';
import type { Measured } from './limits.js';

/** How long one is measured at a time, in milliseconds. */
const windowMs = 400;
/** Requests outstanding. */
const together = 64;
const width = 16;

/** The addon of examples/native-frames. */
interface Frames {
  start(...args: readonly unknown[]): Promise<{ readonly frames: number; readonly seconds: number }>;
}

/** What bench/native/c_api_loop.cc prints for a line. */
interface LoopAnswer {
  readonly requests: number;
  readonly seconds: number;
}

/** The program of the C API and the port in C++, which answers lines with other fields than the bare loops. */
class ApiLoop extends LoopProgram {
  /** Requests in a second, of `port` or `c_api`. */
  async rate(side: 'port' | 'c_api'): Promise<number> {
    // The program printed it.
    const { requests, seconds } = JSON.parse(await this.askLine(`${side} ${windowMs}`)) as LoopAnswer;
    return requests / seconds;
  }
}

/** Measures all in turn, in each round. `note` tells what could not be built. */
export async function measureNative(rounds: number, note: (text: string) => void): Promise<Measured[]> {
  const folder = await mkdtemp(join(tmpdir(), 'tritonts-native-'));
  const path = join(folder, 'model.onnx');
  let server: InferenceServer | undefined;
  let loop: ApiLoop | undefined;
  try {
    await writeFile(path, addModel({ width }));
    const file = join(folder, 'frames.node');
    const build = fileURLToPath(new URL('../../../examples/native-frames/build.mjs', import.meta.url));
    try {
      await promisify(execFile)(process.execPath, [build, file]);
    } catch (error) {
      note(`The addon of examples/native-frames could not be built: ${String(error)}`);
      return [];
    }
    server = await createServer({
      models: {
        tiny: {
          config: {
            backend: 'onnxruntime',
            input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [width] }],
            output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [width] }],
            instance_group: [{ kind: 'KIND_CPU' }],
            dynamic_batching: {},
            max_batch_size: together,
          },
          files: { 'model.onnx': addModel({ width }) },
        },
      },
    });
    const { library } = server.model('tiny').runtimeInfo();
    if (!library) throw new Error('tiny runs without ONNX Runtime');
    loop = new ApiLoop(await buildProgram('c_api_loop'), [library.path, path]);
    // The addon exports that.
    const frames = createRequire(import.meta.url)(file) as Frames;
    return await measure(server, frames, loop, rounds);
  } finally {
    await loop?.close();
    await server?.close();
    await rm(folder, { recursive: true });
  }
}

async function measure(
  server: InferenceServer,
  frames: Frames,
  loop: ApiLoop,
  rounds: number,
): Promise<Measured[]> {
  const model = server.model('tiny');
  const inputs = Array.from({ length: together }, (_, i) => new Float32Array(width).fill(i));
  /** A closed loop in JavaScript. */
  const javascript = async (): Promise<number> => {
    const start = performance.now();
    let answered = 0;
    await Promise.all(
      inputs.map(async (x) => {
        while (performance.now() < start + windowMs) {
          await model.infer({ x });
          answered++;
        }
      }),
    );
    return (1000 * answered) / (performance.now() - start);
  };
  const { engine, id } = server.handle;
  /** About as many frames as its thread sends in a window. */
  let count = 20_000;
  const native = async (): Promise<number> => {
    const told = await frames.start(nativeApi.external, engine, id, 'tiny', count, together);
    const rate = told.frames / told.seconds;
    count = Math.max(together, Math.round((rate * windowMs) / 1000));
    return rate;
  };
  const measured = await measureInTurn(
    { javascript, native, port: () => loop.rate('port'), api: () => loop.rate('c_api') },
    rounds,
  );
  return [
    {
      what: `frames of an addon's thread to a tiny model, ${together} outstanding`,
      value: estimate(measured.of('native')),
      unit: '/s',
    },
    {
      what: 'the same, beside JavaScript',
      value: estimate(measured.ratios('native', 'javascript')),
      unit: 'x',
      limit: { atLeast: 2 },
      detail: 'the rate of model.infer',
    },
    {
      what: `the C API to a tiny model, ${together} outstanding`,
      value: estimate(measured.ratios('api', 'port')),
      unit: 'x',
      limit: { atLeast: 0.9 },
      detail: "the rate of the engine's port, both from C++",
    },
  ];
}
