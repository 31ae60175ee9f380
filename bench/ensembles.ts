/** An ensemble of three tiny models, beside the same three called one after the other from JavaScript. */
import { createServer, type InferenceServer } from '../src/index.js';
import { addModel } from '../test/support/models.js';
import { chain, ensemble, onnx } from '../test/support/harness.js';
import { writeRepository } from '../test/support/repository.js';
import type { Measured } from './limits.js';
import { estimate } from './statistics.js';

/** Requests outstanding. */
const callers = 64;
/** How long a way is measured at a time, in milliseconds. */
const windowMs = 150;

const steps = ['a', 'b', 'c'] as const;

/** What ensembles have to reach, by the server's option `inline`. */
const limits = { auto: 1.8, off: 2.5 } as const;

type Way = (server: InferenceServer, x: Float32Array<ArrayBuffer>) => Promise<unknown>;

const asEnsemble: Way = (server, x) => server.infer('e', { x });

const chained: Way = async (server, x) => {
  const first = await server.infer('a', { x });
  const second = await server.infer('b', { x: first.outputs['y'] ?? x });
  return server.infer('c', { x: second.outputs['y'] ?? x });
};

/** Requests a second, with callers that each await one answer after the other. */
async function rateOf(server: InferenceServer, way: Way): Promise<number> {
  let answered = 0;
  const start = performance.now();
  const end = start + windowMs;
  const call = async (caller: number): Promise<void> => {
    const x = new Float32Array(16).fill(caller);
    while (performance.now() < end) {
      for (let i = 0; i < 16; i++) await way(server, x);
      answered += 16;
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  return (answered * 1000) / (performance.now() - start);
}

/**
 * Measures ensembles.
 *
 * @param folder - Where models may be written.
 */
export async function measureEnsembles(folder: string, rounds: number): Promise<Measured[]> {
  const model = onnx(addModel());
  await writeRepository(folder, { a: model, b: model, c: model, e: ensemble(chain(steps)) });
  const measured: Measured[] = [];
  for (const inline of ['auto', 'off'] as const) {
    const server = await createServer(folder, {
      inline,
      modelControlMode: 'explicit',
      loadModels: ['e'],
    });
    try {
      const ratios: number[] = [];
      await rateOf(server, chained);
      await rateOf(server, asEnsemble);
      for (let round = 0; round < rounds; round++) {
        // On both sides of it: the machine's own pace changes.
        const before = await rateOf(server, chained);
        const rate = await rateOf(server, asEnsemble);
        const after = await rateOf(server, chained);
        ratios.push((2 * rate) / (before + after));
      }
      measured.push({
        what: `ensemble of three, ${callers} outstanding, inline ${inline}`,
        value: estimate(ratios),
        unit: 'x',
        limit: { atLeast: limits[inline] },
        detail: 'of the requests/s of its three steps called one after the other from JavaScript',
      });
    } finally {
      await server.close();
    }
  }
  return measured;
}
