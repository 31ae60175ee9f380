/**
 * What requests cost in allocations, locks and system calls, as the tests' addon counts them. The caller chooses that
 * addon (`TRITONTS_ADDON`) before anything is loaded.
 */
import { addon } from '../src/addon/load.js';
import type { NativeCounts } from '../src/addon/native.js';
import type { InferenceServer } from '../src/index.js';
import { addModel, mlpModel } from '../test/support/models.js';
import type { RepositoryModel } from '../test/support/repository.js';

/** A tensor of as many floats as `width`, in and out. */
function config(backend: string, width: number): string {
  const tensor = (name: string): string => `[ { name: "${name}" data_type: TYPE_FP32 dims: [ ${width} ] } ]`;
  return [
    `backend: "${backend}" max_batch_size: 512`,
    `input ${tensor('x')} output ${tensor('y')}`,
    'dynamic_batching { }',
    'instance_group [ { kind: KIND_CPU } ]',
  ].join('\n');
}

const widths: Readonly<Record<string, number>> = { identity: 16, add: 16, mlp: 512 };

/** The models that requests are counted of, by name. */
export function countedModels(): Record<string, RepositoryModel> {
  return {
    identity: { config: config('identity', 16), versions: { '1': {} } },
    add: { config: config('onnxruntime', 16), versions: { '1': addModel() } },
    mlp: { config: config('onnxruntime', 512), versions: { '1': mlpModel() } },
  };
}

/** Each model with the requests outstanding that are counted. */
export const countedLoads: readonly (readonly [model: string, outstanding: number])[] = [
  ...['identity', 'add'].flatMap((model) => [1, 64, 512].map((outstanding) => [model, outstanding] as const)),
  ...[1, 64].map((outstanding) => ['mlp', outstanding] as const),
];

/** What the requests of some rounds cost. */
export interface RequestCost {
  readonly requests: number;
  /** Runs of the model that answered them. */
  readonly batches: number;
  readonly counts: NativeCounts;
}

/** Whether the addon that is loaded can count. */
export function canCount(): boolean {
  return addon().counts !== undefined;
}

/** What a run may cost, with all requests that it answers: no allocation, and three locks on all sides of the hop. */
const limits: Readonly<Pick<NativeCounts, 'allocations' | 'locks'>> = { allocations: 0, locks: 3 };

/** What is over its limit, in words. */
export function overLimits({ batches, counts }: RequestCost): string[] {
  // A batch whose answers were there already when the counting began may end after that.
  const ended = batches + 1;
  return (['allocations', 'locks'] as const).flatMap((what) =>
    counts[what] > limits[what] * ended
      ? [`${(counts[what] / batches).toFixed(3)} ${what} a batch, ${limits[what]} are allowed`]
      : [],
  );
}

/**
 * Asks for so many answers at once, round after round, and counts.
 *
 * @param warmUp - Rounds before anything is counted, so that pools are full and shapes are known.
 */
export async function countRequests(
  server: InferenceServer,
  name: string,
  outstanding: number,
  rounds: number,
  warmUp: number,
): Promise<RequestCost> {
  const native = addon();
  if (!native.counts) throw new Error('the addon does not count: it is not that of the tests');
  const model = server.model(name);
  const x = new Float32Array(widths[name] ?? 0);
  const ask = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) {
      await Promise.all(Array.from({ length: outstanding }, () => model.infer({ x })));
    }
  };
  await ask(warmUp);
  // Statistics take locks themselves.
  const batchesBefore = model.statistics().execution_count;
  const before = native.counts();
  await ask(rounds);
  const after = native.counts();
  const batches = model.statistics().execution_count - batchesBefore;
  const difference = (key: keyof NativeCounts): number => after[key] - before[key];
  return {
    requests: rounds * outstanding,
    batches,
    counts: {
      allocations: difference('allocations'),
      locks: difference('locks'),
      contended: difference('contended'),
      signals: difference('signals'),
      sleeps: difference('sleeps'),
      wakes: difference('wakes'),
      yields: difference('yields'),
      usages: difference('usages'),
      maps: difference('maps'),
    },
  };
}

/**
 * The system calls that these are, at most: a lock that another thread had is a wait and a wake-up. So is a sleep: glibc
 * takes the mutex back as if somebody waited for it, and tells them when it is free. A call of an event loop is a write.
 */
export function systemCalls({
  contended,
  signals,
  sleeps,
  wakes,
  yields,
  usages,
  maps,
}: NativeCounts): number {
  return 2 * contended + signals + 2 * sleeps + wakes + yields + usages + maps;
}
