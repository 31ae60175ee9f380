/**
 * Opens the rivals of tritonts for a model, checks that all give the same answers, and describes how each
 * runs.
 */
import type { OrtSession, OrtType } from '../../test/support/onnx/run.js';
import type { BenchModel, Items } from '../measuring/models.js';
import { openBareLoop } from './bare-loop.js';
import { openByHand } from './by-hand.js';
import type { BareLoop, Caller, Contestant, Threads } from './contestant.js';
import { openDirect, type Tensors } from './direct.js';
import { openPiscina, threadsOfWorker, workers } from './piscina.js';
import { openSession } from './session.js';
import type { Ours } from './tritonts.js';

/** Options for opening rivals. */
export interface RivalOptions {
  /** Path of the model file. */
  readonly path: string;
  readonly model: BenchModel;
  readonly items: Items;
  readonly threads: Threads;
  /** Program of the bare loop, if it could be built. */
  readonly bareLoop: string | undefined;
  /** The runtime's library file. */
  readonly library: string;
  /** Threads of the bare loop if the option does not set them. */
  readonly cores: number;
}

/** Opens all contestants except tritonts. A contestant that cannot be opened is left out, with a note. */
export async function openRivals(
  options: RivalOptions,
): Promise<{ readonly contestants: Contestant[]; readonly failures: readonly string[] }> {
  const { path, model, items, threads, bareLoop, library, cores } = options;
  const tensors: Tensors = {
    input: model.input.name,
    output: model.output.name,
    type: ({ FP32: 'float32', INT64: 'int64' } as const satisfies Record<string, OrtType>)[items.datatype],
    itemDims: model.input.itemDims,
  };
  const contestants: Contestant[] = [];
  const failures: string[] = [];
  const open = async (name: string, make: () => Promise<readonly Contestant[]>): Promise<void> => {
    try {
      contestants.push(...(await make()));
    } catch (error) {
      failures.push(`${name} could not be opened: ${String(error)}`);
    }
  };
  await open('onnxruntime-node', async () => {
    const session = await openSession(path, threads);
    return [
      ownSession(openDirect(session, tensors, items.values), session),
      byHand(session, tensors, options),
    ];
  });
  await open('piscina', () => Promise.resolve([openPiscina(path, tensors, items.values, threads)]));
  if (bareLoop !== undefined) {
    await open('bare C++ loop', async () => [
      await openBareLoop({
        program: bareLoop,
        library,
        path,
        threads: threads ?? cores,
        datatype: items.datatype,
        model,
      }),
    ]);
  }
  return { contestants, failures };
}

/** Makes a contestant own its session, which is released when the contestant is closed. */
function ownSession(caller: Caller, session: OrtSession): Caller {
  return { ...caller, close: () => session.release() };
}

function byHand(session: OrtSession, tensors: Tensors, { items, model }: RivalOptions): Caller {
  return items.datatype === 'FP32'
    ? openByHand(session, tensors, items.values, model.maxBatchSize, (length) => new Float32Array(length))
    : openByHand(session, tensors, items.values, model.maxBatchSize, (length) => new BigInt64Array(length));
}

/**
 * Asks all contestants for the same items at once.
 *
 * @throws An Error if an answer differs from the first contestant's.
 */
export async function checkAnswers(callers: readonly Caller[]): Promise<void> {
  const [first, ...others] = callers;
  if (!first) return;
  const indices = Array.from({ length: 10 }, (_, i) => i);
  const ask = async ({ infer, read }: Caller): Promise<Float32Array[]> =>
    (await Promise.all(indices.map((index) => infer(index)))).map(read);
  const expected = await ask(first);
  for (const caller of others) {
    // setImmediate is a yardstick, and has no answers.
    if (caller.name === 'setImmediate') continue;
    for (const [index, answer] of (await ask(caller)).entries()) {
      if (!near(answer, expected[index] ?? new Float32Array())) {
        throw new Error(`${caller.name} and ${first.name} give different answers for item ${index}`);
      }
    }
  }
}

/** Whether outputs are nearly equal. Batches of different sizes sum numbers in different orders. */
function near(actual: Float32Array, expected: Float32Array): boolean {
  return (
    actual.length === expected.length &&
    expected.every((value, i) => Math.abs(value - (actual[i] ?? NaN)) <= 1e-3 * (1 + Math.abs(value)))
  );
}

/** Describes the instances, threads and spinning of all contestants. */
export function describeHow({ model }: Ours, contestants: readonly Contestant[], threads: Threads): string {
  const { instances, intraOpThreads, spinning, library } = model.runtimeInfo();
  const parts = [
    `tritonts: ${instances.length} instance(s)` +
      (library ? ` on ${intraOpThreads} thread(s), spinning: ${spinning}` : ''),
    `batches of at most ${model.config.max_batch_size}`,
  ];
  const names = new Set(contestants.map(({ name }) => name));
  if (names.has('onnxruntime-node')) {
    parts.push(
      `onnxruntime-node: ${threads === undefined ? 'its defaults' : `${threads} thread(s), not spinning`}`,
    );
  }
  if (names.has('piscina')) {
    const each = threadsOfWorker(threads);
    parts.push(
      `piscina: ${workers} workers, each ${each === undefined ? 'with the defaults' : `${each} thread(s)`}`,
    );
  }
  const loop = contestants.find((contestant): contestant is BareLoop => contestant.kind === 'loop');
  if (loop) parts.push(`${loop.name}: ${loop.how}`);
  return parts.join('; ');
}
