/**
 * Tries candidates: a server of this process for each, whose models have their configurations replaced at the load. Folders
 * are only read.
 */

import { changeConfig, type ModelConfig } from '../../config/index.js';
import { TritonError } from '../../errors.js';
import type { Explanation, InferenceServer } from '../../index.js';
import type { ServerOptions } from '../../options.js';
import { throughputOf, type Level } from '../../perf/measure/level.js';
import { measureServer, requestsOf, type PerfOptions, type RunProgress } from '../../perf/run.js';
import { openedOf } from '../../perf/targets/in-process.js';
import { createServer } from '../../server/creation/create-server.js';
import { thrownText } from '../../thrown-text.js';
import type { Figures, LevelFigures, Objective } from '../search/objective.js';
import type { Measured } from '../search/world.js';
import { changesOf } from '../space/changes.js';
import { keyOf, type Candidate, type Space } from '../space/space.js';
import { memoryOfModels } from './memory.js';
import type { WrittenModel } from './written-models.js';

/** A model that is tuned: as it is written, and as it is served. */
export interface TunedModel {
  readonly written: WrittenModel;
  readonly config: ModelConfig;
}

/** What is tried, and how. */
export interface TrialOptions {
  readonly server: Omit<ServerOptions, 'modelControlMode' | 'loadModels'>;
  /** The model that gets the requests. */
  readonly model: string;
  readonly version: string | undefined;
  /** Requests at once, ascending. */
  readonly levels: readonly number[];
  readonly requests: Omit<
    PerfOptions,
    'place' | 'model' | 'version' | 'load' | 'plan' | 'headers' | 'composing'
  >;
  readonly objective: Objective;
}

/** What limits a model, as {@link InferenceServer.explain} tells it under load. */
export interface Limits {
  readonly model: string;
  readonly limit: Explanation['limit'];
  readonly summary: string;
}

/** How long the load runs before a window, at least. */
const leastWarmUpMs = 30;
/** A window is at least as long as this many answers to a caller. */
const leastAnswers = 4;
/** If a level is this many times above the limit of the latency, the levels with more requests at once are left out. */
const farAbove = 2;
/** With no requests known, windows get longer until there are answers. */
const firstTries = 4;

/** See the head of this file. */
export class Trials {
  readonly #options: TrialOptions;
  readonly #signal: AbortSignal;
  /** Milliseconds between two answers to a caller of the present configuration, by level. */
  readonly #answerMs: Map<number, number> = new Map();
  readonly #limits: Map<string, readonly Limits[]> = new Map();

  constructor(options: TrialOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** What limited a candidate when it was measured last. */
  limitsOf(candidate: Candidate): readonly Limits[] {
    return this.#limits.get(keyOf(candidate)) ?? [];
  }

  /**
   * The complete configurations, as they are served now: of the model, or of the steps of an ensemble, and of their steps.
   *
   * @throws {@link TritonError} INVALID_ARG for requests that do not fit the model; the error of a load that failed.
   */
  async present(): Promise<readonly ModelConfig[]> {
    const server = await this.#open([]);
    try {
      const found = new Map<string, ModelConfig>();
      const visit = ({ config }: { readonly config: ModelConfig }): void => {
        const steps = config.ensemble_scheduling?.step ?? [];
        if (steps.length === 0) found.set(config.name, config);
        for (const { model_name: step } of steps) visit(server.model(step));
      };
      const { model, version, requests } = this.#options;
      const opened = server.model(model, version);
      visit(opened);
      await requestsOf(opened, requests);
      return [...found.values()];
    } finally {
      await server.close({ timeoutMs: 0 });
    }
  }

  /** Measures a candidate. What keeps it from loading or answering is its failure. */
  async measure(
    space: Space,
    tuned: readonly TunedModel[],
    candidate: Candidate,
    windowMs: number,
  ): Promise<Measured> {
    const needsMemory =
      this.#options.objective.goal === 'memory' || this.#options.objective.mostMemoryBytes !== undefined;
    const before = needsMemory ? await memoryOfModels() : undefined;
    const changes = tuned.map(({ written, config }) => ({
      name: config.name,
      written,
      changes: changesOf(space, candidate, { config, written: written.config }),
    }));
    let server: InferenceServer | undefined;
    try {
      server = await this.#open(
        changes.flatMap(({ name, written, changes: list }) =>
          list.length === 0 ? [] : [{ name, config: changeConfig(written.config, list) }],
        ),
      );
      const names = tuned.map(({ config }) => config.name);
      const levels = await this.#levels(server, names, candidate, windowMs);
      const after = needsMemory ? await memoryOfModels() : undefined;
      const memoryBytes =
        before === undefined || after === undefined ? undefined : Math.max(0, after - before);
      return { figures: { levels, memoryBytes } satisfies Figures };
    } catch (error) {
      const text = error instanceof TritonError ? `${error.code}: ${error.message}` : thrownText(error);
      return { failure: text };
    } finally {
      await server?.close({ timeoutMs: 0 });
    }
  }

  /** Opens a server with the model, and with other configurations of models. */
  async #open(
    changed: readonly { readonly name: string; readonly config: ReturnType<typeof changeConfig> }[],
  ): Promise<InferenceServer> {
    const { server: options, model } = this.#options;
    const server = await createServer({ ...options, modelControlMode: 'explicit', loadModels: [] });
    try {
      for (const { name, config } of changed) await server.loadModel(name, { config });
      // An ensemble finds its steps loaded, and leaves them as they are.
      if (!changed.some(({ name }) => name === model)) await server.loadModel(model);
      return server;
    } catch (error) {
      await server.close({ timeoutMs: 0 });
      throw error;
    }
  }

  async #levels(
    server: InferenceServer,
    tuned: readonly string[],
    candidate: Candidate,
    windowMs: number,
  ): Promise<readonly LevelFigures[]> {
    const { levels, objective } = this.#options;
    const found: LevelFigures[] = [];
    for (const concurrency of levels) {
      const { level, limits } = await this.#level(server, tuned, concurrency, windowMs);
      const figures = figuresOf(level);
      found.push(figures);
      this.#limits.set(keyOf(candidate), limits);
      const { limit } = objective;
      if (limit !== undefined && figures.latencyMs[limit.latency] > farAbove * limit.ms) break;
    }
    return found;
  }

  async #level(
    server: InferenceServer,
    tuned: readonly string[],
    concurrency: number,
    windowMs: number,
  ): Promise<{ readonly level: Level; readonly limits: readonly Limits[] }> {
    const known = this.#answerMs.get(concurrency);
    let length = Math.max(windowMs, leastAnswers * (known ?? 0));
    for (let trial = 1; ; trial++) {
      const { level, limits, failure } = await this.#window(server, tuned, concurrency, length);
      if (level !== undefined) {
        if (known === undefined) this.#answerMs.set(concurrency, level.tally.latency.meanMs);
        return { level, limits };
      }
      // Only the first candidate gets more time: nothing is known of the model before.
      if (known !== undefined || trial === firstTries || this.#signal.aborted) {
        if (failure === undefined) throw aborted();
        throw failure.error;
      }
      length *= 5;
    }
  }

  async #window(
    server: InferenceServer,
    tuned: readonly string[],
    concurrency: number,
    windowMs: number,
  ): Promise<{
    readonly level: Level | undefined;
    readonly limits: readonly Limits[];
    readonly failure: { readonly error: unknown } | undefined;
  }> {
    const { server: options, model, version, requests } = this.#options;
    let limits: readonly Limits[] = [];
    const progress: RunProgress = {
      ...silent,
      // The load is still there, so that instances show how busy they are.
      window: () => (limits = limitsOf(server, tuned)),
    };
    const run = await measureServer(
      openedOf(server, options, model, version),
      {
        ...requests,
        headers: {},
        composing: [],
        load: {
          mode: 'concurrency',
          range: { start: concurrency, end: concurrency, step: 1 },
          search: 'linear',
        },
        plan: {
          mode: 'time',
          intervalMs: windowMs,
          requests: 1,
          trials: 1,
          stabilityPercentage: 0,
          percentile: undefined,
          latencyThresholdMs: 0,
          requestCount: 0,
          warmup: 0,
          warmupMs: Math.max(leastWarmUpMs, windowMs / 4),
        },
      },
      progress,
      this.#signal,
    );
    const [level] = run.levels;
    if (run.failure !== undefined && level !== undefined) throw run.failure.error;
    return { level, limits, failure: run.failure };
  }
}

const silent: RunProgress = {
  opened: () => undefined,
  running: () => undefined,
  window: () => undefined,
  level: () => undefined,
  note: () => undefined,
};

function aborted(): TritonError {
  return new TritonError('CANCELLED', 'the measurement was ended');
}

/** What limits each model. An ensemble has no batches of its own. */
function limitsOf(server: InferenceServer, models: readonly string[]): readonly Limits[] {
  return models.map((model) => {
    const { limit, summary } = server.explain(model);
    return { model, limit, summary };
  });
}

function figuresOf(level: Level): LevelFigures {
  const { latency, requests, refusals } = level.tally;
  return {
    concurrency: level.value,
    throughput: throughputOf(level),
    latencyMs: {
      mean: latency.meanMs,
      p50: latency.percentileMs(50),
      p90: latency.percentileMs(90),
      p95: latency.percentileMs(95),
      p99: latency.percentileMs(99),
    },
    refused: refusals / Math.max(1, requests + refusals),
  };
}
