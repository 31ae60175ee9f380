/**
 * Compares an ensemble of three tiny models with calls of the same models in sequence, from JavaScript and from
 * C++.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createServer, type InferenceServer } from '../../src/index.js';
import { addModel } from '../../test/support/models.js';
import { chain, ensemble, onnx } from '../../test/support/harness.js';
import { writeRepository } from '../../test/support/repository.js';
import { buildProgram } from '../contestants/bare-loop.js';
import type { Measured } from './limits.js';
import { estimate } from '../reports/statistics.js';

/** Requests outstanding. */
const callers = 64;
/** How long each side is measured at a time, in milliseconds. */
const windowMs = 150;

const steps = ['a', 'b', 'c'] as const;

/** The required ratios of ensembles, by the server's option `inline`. */
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

/** The output of `bench/native/ensemble_loop.cc` for a line of its input. */
interface Answer {
  readonly requests: number;
  readonly batches: number;
  readonly seconds: number;
}

/**
 * The ensemble's requests per second, divided by those of its steps in sequence, both from C++.
 *
 * @param library - The runtime's library file.
 * @param path - The model file of each step.
 * @param together - How many requests share a header, as those of one tick do.
 */
async function nativeRatios(
  library: string,
  path: string,
  together: number,
  rounds: number,
): Promise<number[]> {
  const child = spawn(await buildProgram('ensemble_loop'), [library, path, String(together)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const sides = ['apart', 'ensemble', 'apart'] as const;
  for (let round = -1; round < rounds; round++) {
    for (const side of sides) child.stdin.write(`${side} ${windowMs}\n`);
  }
  child.stdin.end();
  const rates: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    // The program printed it.
    const { requests, seconds } = JSON.parse(line) as Answer;
    rates.push(requests / seconds);
  }
  if (rates.length < sides.length * (rounds + 1)) throw new Error('ensemble_loop ended early');
  const ratios: number[] = [];
  for (let at = sides.length; at < rates.length; at += sides.length) {
    const [before = 0, rate = 0, after = 0] = rates.slice(at, at + sides.length);
    ratios.push((2 * rate) / (before + after));
  }
  return ratios;
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
  let library: string | undefined;
  for (const inline of ['auto', 'off'] as const) {
    const server = await createServer(folder, {
      inline,
      modelControlMode: 'explicit',
      loadModels: ['e'],
    });
    try {
      library = server.model('a').runtimeInfo().library?.path;
      const ratios: number[] = [];
      await rateOf(server, chained);
      await rateOf(server, asEnsemble);
      for (let round = 0; round < rounds; round++) {
        // Measure the reference before and after, because the machine's speed varies.
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
  if (library === undefined) throw new Error('the steps run without ONNX Runtime');
  for (const together of [callers, 1]) {
    const ratios = await nativeRatios(library, join(folder, 'a', '1', 'model.onnx'), together, rounds);
    measured.push({
      what: `ensemble of three from C++, ${callers} outstanding, ${together === 1 ? 'each alone' : 'of one tick'}`,
      value: estimate(ratios),
      unit: 'x',
      ...(together > 1 && { limit: { atLeast: 0.8 } }),
      detail: 'of the requests/s of its three steps one after the other with full batches, from C++',
    });
  }
  return measured;
}
