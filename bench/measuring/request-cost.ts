/**
 * What requests cost in allocations, locks and system calls, as the tests' addon counts them. The caller has
 * to choose that addon (`TRITONTS_ADDON`) before anything is loaded.
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

/** All metrics: they are to cost neither allocations nor locks. */
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

/** The same of an ensemble of three wide steps, of which only the bytes that it copies are limited. */
export const countedEnsembles: typeof countedLoads = [1, 64].map((outstanding) => ['three', outstanding]);
/** The model that is each of its steps. */
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
  // A batch whose answers came before the counting may end after it began.
  const ended = batches + 1;
  return (['allocations', 'locks'] as const).flatMap((what) =>
    counts[what] > limits[what] * ended
      ? [`${(counts[what] / batches).toFixed(3)} ${what} a batch, ${limits[what]} are allowed`]
      : [],
  );
}

/**
 * In words, whether requests of the ensemble copy more than those of one of its steps alone, which copy them in and
 * out: nothing is copied between the steps, as requests that were made together lie one after the other.
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
      copied: difference('copied'),
    },
  };
}

/**
 * The most system calls that the counts stand for. A lock that another thread holds is a wait and a wake-up.
 * So is a sleep: glibc locks the mutex again as if somebody waited for it, and wakes them when it is free.
 * Waking an event loop is a write.
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
