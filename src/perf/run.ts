/** Measures a model: opens its server, makes the data and the load, and measures each level. */

import { invalidArgument, unavailable } from '../errors.js';
import type { ServerOptions } from '../options.js';
import { makeDataSet, type DataSet } from './inputs/data-set.js';
import { planModel, type PlannedModel } from './inputs/model-inputs.js';
import { randomOf, type Random } from './inputs/random.js';
import { constantArrivals, givenArrivals, poissonArrivals } from './load/arrivals.js';
import { ClosedLoop } from './load/closed-loop.js';
import { fitLoad } from './load/fit.js';
import type { Load } from './load/load.js';
import type { PerfLoad } from './load/perf-load.js';
import { OpenLoop } from './load/open-loop.js';
import { StepSources, type SequencePlan } from './load/step-source.js';
import type { Level, LevelLoad } from './measure/level.js';
import { searchBinary, searchLinearly } from './measure/levels.js';
import {
  profile,
  type Measured,
  type ProfileOutcome,
  type Progress,
  type WindowPlan,
} from './measure/profile.js';
import type { Recording } from './measure/recording.js';
import type { Snapshot } from './measure/server-side.js';
import { takeSnapshot, watchedModels } from './measure/watched-models.js';
import { openInProcess } from './targets/in-process.js';
import { openRemote } from './targets/remote.js';
import { shareTensors, type SharedMemoryPlan } from './targets/shared-tensors.js';
import type { OpenedServer, Target } from './targets/target.js';
import { within } from './within.js';

/** What is measured, and how. */
export interface PerfOptions {
  /** A server of this process, or the address of another one. */
  readonly place: { readonly server: ServerOptions } | { readonly url: string };
  readonly model: string;
  readonly version: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly parameters: Readonly<Record<string, string | number | bigint | boolean>>;
  /** Further models whose statistics are read. */
  readonly composing: readonly string[];
  readonly load: PerfLoad;
  readonly plan: WindowPlan;
  readonly sequences: SequencePlan & {
    /** How many are open at once with a request rate. */
    readonly atOnce: number;
  };
  readonly streaming: boolean;
  readonly batch: number;
  readonly shapes: ReadonlyMap<string, readonly number[]>;
  readonly inputData: readonly string[];
  readonly stringLength: number;
  readonly stringData: string | undefined;
  readonly seed: number;
  /** How tensors are put into shared memory; undefined: they are sent. */
  readonly sharedMemory?: SharedMemoryPlan | undefined;
}

/** A run's results. */
export interface PerfRun {
  readonly model: string;
  readonly kind: OpenedServer['kind'];
  readonly place: string;
  readonly batch: number;
  /** Whether responses were read as streams. */
  readonly streaming: boolean;
  /** Whether requests were parts of sequences. */
  readonly sequences: boolean;
  /** Whether tensors were in shared memory. */
  readonly sharedMemory: boolean;
  readonly percentile: number | undefined;
  readonly levels: readonly Level[];
  /** What ended the run early; undefined: nothing did. */
  readonly failure: { readonly error: unknown } | undefined;
}

/** Hears of a run in progress. */
export interface RunProgress extends Progress {
  /** What is measured, before the first level. */
  opened(run: Omit<PerfRun, 'levels' | 'failure'>): void;
  level(level: Level, run: Omit<PerfRun, 'levels' | 'failure'>): void;
  /** Tells of something that is missing from the figures. */
  note(text: string): void;
}

/**
 * Runs a measurement.
 *
 * @param signal - Ends it: the figures so far are returned.
 * @throws {@link TritonError} INVALID_ARG for options that do not fit the model; the error of a server that cannot be
 *   opened. Errors of requests are in the result.
 */
export async function runPerf(
  options: PerfOptions,
  progress: RunProgress,
  signal: AbortSignal,
): Promise<PerfRun> {
  const { place, model, version } = options;
  const server =
    'url' in place
      ? await openRemote(place.url, options.headers, model, version, signal)
      : await openInProcess(place.server, model, version, options.composing);
  try {
    return await measureServer(server, options, progress, signal);
  } finally {
    await server.close();
  }
}

/** Measures a model of a server that is open, and leaves it open. The rest is as for {@link runPerf}. */
export async function measureServer(
  server: OpenedServer,
  options: Omit<PerfOptions, 'place' | 'model' | 'version'>,
  progress: RunProgress,
  signal: AbortSignal,
): Promise<PerfRun> {
  const requests = await requestsOf(server, options);
  const { sharedMemory: plan } = options;
  const { sharedMemory: memory } = server;
  if (plan === undefined || memory === undefined)
    return measureRequests(server, options, requests, progress, signal);
  const { model, data } = requests;
  const judges = judgesOf(data);
  const streaming = options.streaming || model.decoupled;
  if (judges || streaming)
    progress.note(
      `outputs come in the answers: ${judges ? 'they are compared with validation_data' : 'responses are read as streams'}`,
    );
  const shared = await shareTensors(server, memory, model, data, {
    ...plan,
    batch: options.batch,
    atOnce: options.load.mode === 'concurrency' ? options.load.range.end : Infinity,
    outputsAnswered: judges || streaming,
  });
  let run: PerfRun;
  try {
    run = await measureRequests(server, options, { ...requests, data: shared.data }, progress, signal);
  } catch (error) {
    // The first error says more.
    await shared.close().catch(() => undefined);
    throw error;
  }
  try {
    await shared.close();
  } catch (error) {
    // A server that has failed has lost its regions, too.
    if (run.failure === undefined) return { ...run, failure: { error } };
  }
  return run;
}

/** Whether outputs are compared. */
function judgesOf({ steps }: DataSet): boolean {
  return steps.some(({ expected }) => expected !== undefined);
}

async function measureRequests(
  server: OpenedServer,
  options: Omit<PerfOptions, 'place' | 'model' | 'version'>,
  { model, data, random }: RunRequests,
  progress: RunProgress,
  signal: AbortSignal,
): Promise<PerfRun> {
  const { batch } = options;
  const opened = await within(watchedModels(server, options.composing), openMs, signal);
  if (opened === undefined)
    throw unavailable('TIMED_OUT', `${server.place}: the configurations of models did not come`);
  const watched = opened.value;
  const streaming = options.streaming || model.decoupled;
  const target = server.target(streaming, options.parameters, judgesOf(data));
  target.prepare(data.steps);
  const plan = watched.hasSequences ? sequencePlan(options, data.given) : undefined;
  const sources = new StepSources(data.streams, plan, random);
  const load = fitLoad(options.load, {
    mostAtOnce: target.mostAtOnce,
    sequences: plan && { ...plan, atOnce: options.sequences.atOnce },
  });
  const about = {
    model: model.name,
    kind: server.kind,
    place: server.place,
    batch,
    streaming,
    sequences: plan !== undefined,
    sharedMemory: options.sharedMemory !== undefined && server.sharedMemory !== undefined,
    percentile: options.plan.percentile,
  };
  progress.opened(about);
  const levels: Level[] = [];
  let failure: PerfRun['failure'];
  let statistics = true;
  const snapshot = async (): Promise<Snapshot | undefined> => {
    if (!statistics) return undefined;
    const answer = await within(takeSnapshot(server, watched), statisticsMs, signal);
    if (answer !== undefined) return answer.value;
    statistics = false;
    progress.note(`${server.place} did not answer with its statistics, so that its own figures are missing`);
    return undefined;
  };
  const one = async (value: number): Promise<Level | undefined> => {
    const level: LevelLoad = {
      mode: options.load.mode === 'concurrency' ? 'concurrency' : 'request rate',
      value,
    };
    const outcome = await profileSafely({
      level,
      batch,
      plan: options.plan,
      progress,
      signal,
      load: (recording, failed, most) =>
        loadOf(options, value, plan !== undefined, target, sources, recording, failed, random, most),
      snapshot,
    });
    ({ failure } = outcome);
    if (outcome.level === undefined) return undefined;
    levels.push(outcome.level);
    progress.level(outcome.level, about);
    return failure === undefined && !signal.aborted ? outcome.level : undefined;
  };
  if (load.mode === 'intervals') await one(rateOf(load.intervalsMs));
  else await (load.search === 'binary' ? searchBinary : searchLinearly)(load.range, one);
  try {
    await target.close();
  } catch (error) {
    // The figures are complete.
    failure ??= { error };
  }
  return { ...about, levels, failure };
}

/** What requests of a run are made of. */
export interface RunRequests {
  readonly model: PlannedModel;
  readonly data: DataSet;
  readonly random: Random;
}

/**
 * Makes the requests of a run.
 *
 * @throws {@link TritonError} INVALID_ARG for options that do not fit the model.
 */
export async function requestsOf(
  server: Pick<OpenedServer, 'metadata' | 'config'>,
  options: Pick<PerfOptions, 'batch' | 'seed' | 'shapes' | 'inputData' | 'stringLength' | 'stringData'>,
): Promise<RunRequests> {
  const { batch, seed } = options;
  const model = planModel(server.metadata, server.config, options.shapes);
  if (batch > Math.max(1, model.maxBatchSize))
    throw invalidArgument(
      `model '${model.name}': expected at most ${Math.max(1, model.maxBatchSize)} for --batch-size, its max_batch_size, but received ${batch}`,
    );
  const random = randomOf(seed);
  const { stringLength, stringData } = options;
  const data = await makeDataSet(model, options.inputData, { random, stringLength, stringData }, batch);
  return { model, data, random };
}

/** Measures a level. What ends it must not lose the levels before it, so that errors are part of the outcome. */
async function profileSafely(measured: Measured): Promise<ProfileOutcome> {
  try {
    return await profile(measured);
  } catch (error) {
    return { level: undefined, failure: { error } };
  }
}

/** How long the configurations of models are waited for. */
const openMs = 60_000;
/** How long statistics are waited for. */
const statisticsMs = 10_000;

/** Sequences have the length of their data, unless a length is given or the data is generated. */
function sequencePlan({ sequences }: Pick<PerfOptions, 'sequences'>, given: boolean): SequencePlan {
  return { ...sequences, length: sequences.length ?? (given ? undefined : defaultLength) };
}

const defaultLength = 20;

/** Requests a second. */
function rateOf(intervalsMs: readonly number[]): number {
  return (1000 * intervalsMs.length) / intervalsMs.reduce((sum, one) => sum + one, 0);
}

function loadOf(
  { load, sequences }: Pick<PerfOptions, 'load' | 'sequences'>,
  value: number,
  hasSequences: boolean,
  target: Target,
  sources: StepSources,
  recording: Recording,
  failed: (error: unknown) => void,
  random: () => number,
  most: number | undefined,
): Load {
  if (load.mode === 'concurrency') {
    return new ClosedLoop(target, sources, recording, failed, value, most);
  }
  const arrivals =
    load.mode === 'intervals'
      ? givenArrivals(load.intervalsMs)
      : load.poisson
        ? poissonArrivals(value, random)
        : constantArrivals(value);
  const atOnce = hasSequences ? sequences.atOnce : Math.min(target.mostAtOnce, mostOutstanding);
  return new OpenLoop(target, sources, recording, failed, arrivals, atOnce, most);
}

/** More requests than this are not under way at once with a rate: a server that is that far behind will not catch up. */
const mostOutstanding = 2048;
