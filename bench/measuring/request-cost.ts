/**
 * Counts the allocations, locks and system calls of requests, with the tests' addon. The caller has to select that
 * addon (`TRITONTS_ADDON`) before the package is loaded.
 */
import { addon } from '../../src/addon/load.js';
import type { NativeCounts } from '../../src/addon/native/addon.js';
import type { InferenceServer, MetricsConfig } from '../../src/index.js';
import { chain, ensemble } from '../../test/support/harness.js';
import { addModel, mlpModel } from '../../test/support/models.js';
import type { RepositoryModel } from '../../test/support/repository.js';

/** The config of a model with one tensor of `width` floats, in and out. */
function config(backend: string, width: number): string {
  const tensor = (name: string): string => `[ { name: "${name}" data_type: TYPE_FP32 dims: [ ${width} ] } ]`;
  return [
    `backend: "${backend}" max_batch_size: 512`,
    `input ${tensor('x')} output ${tensor('y')}`,
    'dynamic_batching { }',
    'instance_group [ { kind: KIND_CPU } ]',
  ].join('\n');
}

/** All metrics, because they must not cost allocations or locks. */
export const allMetrics: MetricsConfig = { summaryLatencies: true, histogramLatencies: true };

/** Floats of a row of the model that is each step of the ensemble. */
const wide = 4096;

const widths: Readonly<Record<string, number>> = { identity: 16, add: 16, mlp: 512, wide, three: wide };

/** The models whose requests are counted, by name. */
export function countedModels(): Record<string, RepositoryModel> {
  return {
    identity: { config: config('identity', 16), versions: { '1': {} } },
    add: { config: config('onnxruntime', 16), versions: { '1': addModel() } },
    mlp: { config: config('onnxruntime', 512), versions: { '1': mlpModel() } },
    wide: { config: config('onnxruntime', wide), versions: { '1': addModel({ width: wide }) } },
    three: ensemble(chain(['wide', 'wide', 'wide']), {
      maxBatchSize: 512,
      inputs: [{ name: 'x', dims: [wide] }],
      outputs: [{ name: 'y', dims: [wide] }],
    }),
  };
}

/** The models with the numbers of outstanding requests that are counted. */
export const countedLoads: readonly (readonly [model: string, outstanding: number])[] = [
  ...['identity', 'add'].flatMap((model) => [1, 64, 512].map((outstanding) => [model, outstanding] as const)),
  ...[1, 64].map((outstanding) => ['mlp', outstanding] as const),
];

/** The loads of an ensemble of three wide steps. Only its copied bytes are limited. */
export const countedEnsembles: typeof countedLoads = [1, 64].map((outstanding) => ['three', outstanding]);
/** The model of each step. */
export const countedStep = 'wide';

/** The cost of the requests of some rounds. */
export interface RequestCost {
  readonly requests: number;
  /** Number of runs that answered them. */
  readonly batches: number;
  readonly counts: NativeCounts;
}

/** Whether the loaded addon can count. */
export function canCount(): boolean {
  return addon().counts !== undefined;
}

/**
 * The most that a run with all its requests may cost: no allocation, and three locks on all threads together.
 */
const limits: Readonly<Pick<NativeCounts, 'allocations' | 'locks'>> = { allocations: 0, locks: 3 };

/** The counts that exceed their limits, in words. */
export function overLimits({ batches, counts }: RequestCost): string[] {
  // A batch that was answered before the counting may end after it has begun.
  const ended = batches + 1;
  return (['allocations', 'locks'] as const).flatMap((what) =>
    counts[what] > limits[what] * ended
      ? [`${(counts[what] / batches).toFixed(3)} ${what} a batch, ${limits[what]} are allowed`]
      : [],
  );
}

/**
 * Describes whether the ensemble's requests copy more bytes than requests of a single step, which are copied in and
 * out. Nothing may be copied between the steps, because requests of one tick are contiguous.
 */
export function overCopied(ensemble: RequestCost, step: RequestCost): string[] {
  const copied = ensemble.counts.copied / ensemble.requests;
  const most = step.counts.copied / step.requests + wide / 16;
  return copied > most ? [`${copied.toFixed(0)} bytes copied a request, ${most} are allowed`] : [];
}

/**
 * Makes `outstanding` requests at once, round after round, and counts.
 *
 * @param warmUp - Number of rounds before the counting, so that pools are full and shapes are known.
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
  // Read statistics outside of the counting, because they take locks.
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
      copied: difference('copied'),
    },
  };
}

/**
 * The upper bound of system calls for these counts. A contended lock costs a wait and a wake-up. So does a sleep:
 * glibc relocks the mutex as contended, and wakes a waiter when it unlocks it. Waking an event loop is a write.
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
