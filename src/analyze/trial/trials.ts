/**
 * Tries candidates: a server of this process for each, whose models have their configurations replaced at the load. Folders
 * are only read.
 */

import { changeConfig, type ModelConfig } from '../../config/index.js';
import { TritonError, unavailable } from '../../errors.js';
import type { Explanation, InferenceServer } from '../../index.js';
import { throughputOf, type Level } from '../../perf/measure/level.js';
import { significant } from '../../perf/plot/numbers.js';
import { measureServer, requestsOf, type RunProgress } from '../../perf/run.js';
import { openedOf } from '../../perf/targets/in-process.js';
import { createServer } from '../../server/creation/create-server.js';
import { endsWithin } from '../../time-limit.js';
import { thrownText } from '../../thrown-text.js';
import type { Figures, LevelFigures } from '../search/objective.js';
import type { Measured } from '../search/world.js';
import { changesOf } from '../space/changes.js';
import { keyOf, type Candidate, type Space } from '../space/space.js';
import { aborted, closeServer, limited } from './limited.js';
import { memoryInProcess } from './memory.js';
import type { ChangedModel, TrialOptions } from './trial-options.js';
import { isSettled, turnMs, windowLength } from './windows.js';
import type { WrittenModel } from './written-models.js';

/** A model that is tuned: as it is written, and as it is served. */
export interface TunedModel {
  readonly written: WrittenModel;
  readonly config: ModelConfig;
}

/** What limits a model, as {@link InferenceServer.explain} tells it under load. */
export interface Limits {
  readonly model: string;
  readonly limit: Explanation['limit'];
  readonly summary: string;
}

/** How long the load runs before a window, at least. */
const leastWarmUpMs = 30;
/** A candidate may take so many times what the present configuration takes, to load and to answer each caller once. */
const mostTimes = 10;
/** It may take so long in any case, in milliseconds. */
const leastLoadMs = 5000;
const leastPatienceMs = 1000;
/** How long a server with a load that hangs may take to close, in milliseconds. */
const hungMs = 3000;
/** The window of a candidate of which only the memory matters, in milliseconds. */
const shortWindowMs = 50;
/** If a level is this many times above the limit of the latency, the levels with more requests at once are left out. */
const farAbove = 2;
/** Windows get longer until their figures agree, so many times at most. */
const mostTries = 5;

/** See the head of this file. */
export class Trials {
  readonly #options: TrialOptions;
  readonly #signal: AbortSignal;
  /** Milliseconds between two answers to a caller of the present configuration, by level. */
  readonly #answerMs: Map<number, number> = new Map();
  /** How long the load of the present configuration took; undefined: it was not loaded yet. */
  #loadMs: number | undefined;
  readonly #leastRows: Map<string, number> = new Map();
  readonly #limits: Map<string, readonly Limits[]> = new Map();

  constructor(options: TrialOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** What limited a candidate when it was measured last. */
  limitsOf(candidate: Candidate): readonly Limits[] {
    return this.#limits.get(keyOf(candidate)) ?? [];
  }

  /** How long the load of the present configuration took, in milliseconds; undefined: it was not loaded yet. */
  get loadMs(): number | undefined {
    return this.#loadMs;
  }

  /** The fewest rows that a model has to take: a step of an ensemble gets the rows of the ensemble. */
  leastRowsOf(model: string): number {
    return this.#leastRows.get(model) ?? 1;
  }

  /**
   * The complete configurations, as they are served now: of the model, or of the steps of an ensemble, and of their steps.
   *
   * @throws {@link TritonError} INVALID_ARG for requests that do not fit the model; the error of a load that failed.
   */
  async present(): Promise<readonly ModelConfig[]> {
    const began = performance.now();
    const server = await this.#open([]);
    this.#loadMs = performance.now() - began;
    try {
      const found = new Map<string, ModelConfig>();
      const visit = ({ config }: { readonly config: ModelConfig }, rows: number): void => {
        const steps = config.ensemble_scheduling?.step ?? [];
        if (steps.length === 0) {
          found.set(config.name, config);
          this.#leastRows.set(config.name, Math.max(rows, this.leastRowsOf(config.name)));
        }
        for (const { model_name: step } of steps)
          visit(server.model(step), Math.max(rows, config.max_batch_size));
      };
      const { model, version, requests } = this.#options;
      const opened = server.model(model, version);
      visit(opened, 1);
      await requestsOf(opened, requests);
      return [...found.values()];
    } finally {
      await closeServer(server);
    }
  }

  /** Measures a candidate. What keeps it from loading or answering is its failure. */
  async measure(
    space: Space,
    tuned: readonly TunedModel[],
    candidate: Candidate,
    windowMs: number,
  ): Promise<Measured> {
    const changed = tuned.flatMap(({ written, config }): ChangedModel[] => {
      const changes = changesOf(space, candidate, { config, written: written.config });
      return changes.length === 0
        ? []
        : [{ name: config.name, config: changeConfig(written.config, changes) }];
    });
    const { goal, mostMemoryBytes } = this.#options.objective;
    let server: InferenceServer | undefined;
    try {
      // A process of its own: this one keeps memory of candidates before it.
      const memoryBytes =
        goal === 'memory' || mostMemoryBytes !== undefined
          ? await memoryInProcess(this.#options, changed, this.#loadLimitMs(), this.#signal)
          : undefined;
      server = await this.#open(changed);
      const names = tuned.map(({ config }) => config.name);
      const levels = await this.#levels(server, names, candidate, windowMs);
      return { figures: { levels, memoryBytes } satisfies Figures };
    } catch (error) {
      const text = error instanceof TritonError ? `${error.code}: ${error.message}` : thrownText(error);
      return { failure: text };
    } finally {
      if (server !== undefined) await closeServer(server);
    }
  }

  /** Loads a candidate, and lets it answer the most callers. `tell` hears of the loaded one. */
  async load(changed: readonly ChangedModel[], tell: () => Promise<void>): Promise<void> {
    const server = await this.#open(changed);
    try {
      await this.#level(server, [], Math.max(...this.#options.levels), shortWindowMs);
      await tell();
    } finally {
      await closeServer(server);
    }
  }

  #isEnded(): boolean {
    return this.#signal.aborted;
  }

  #loadLimitMs(): number {
    const { budgetMs } = this.#options;
    return this.#loadMs === undefined
      ? budgetMs
      : Math.min(budgetMs, Math.max(leastLoadMs, mostTimes * this.#loadMs));
  }

  /** Opens a server with the model, and with other configurations of models. */
  async #open(changed: readonly ChangedModel[]): Promise<InferenceServer> {
    const { server: options, model, composing } = this.#options;
    if (this.#signal.aborted) throw aborted();
    const server = await createServer({ ...options, modelControlMode: 'explicit', loadModels: [] });
    const load = async (): Promise<void> => {
      for (const name of composing) await server.loadModel(name);
      for (const { name, config } of changed) await server.loadModel(name, { config });
      // An ensemble finds its steps loaded, and leaves them as they are.
      if (!changed.some(({ name }) => name === model)) await server.loadModel(model);
    };
    const limitMs = this.#loadLimitMs();
    try {
      const late = `model '${model}' was not loaded within ${significant(limitMs / 1000)} s`;
      await limited(load(), limitMs, this.#signal, late);
      return server;
    } catch (error) {
      // A load that hangs is not waited for.
      const closed = closeServer(server);
      if (!this.#isEnded()) await endsWithin(closed, hungMs);
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
    const { budgetMs } = this.#options;
    const patienceMs =
      known === undefined ? budgetMs : Math.min(budgetMs, Math.max(leastPatienceMs, mostTimes * known));
    let length = windowLength(windowMs, concurrency, known);
    for (let trial = 1; ; trial++) {
      const began = performance.now();
      const { level, limits, failure } = await this.#window(server, tuned, concurrency, length, patienceMs);
      if (this.#signal.aborted) throw aborted();
      if (level === undefined || failure !== undefined) {
        // Answers came before the window, so that a longer one has some.
        const again = level === undefined && trial < mostTries && performance.now() - began < patienceMs;
        if (failure === undefined || !again || !isUnanswered(failure.error))
          throw failure === undefined ? aborted() : failure.error;
        length *= 5;
        continue;
      }
      const { latency, requests, refusals, elapsedMs } = level.tally;
      const { meanMs } = latency;
      const counts = { concurrency: level.value, requests, refusals, elapsedMs, meanMs };
      if (isSettled(counts)) {
        if (known === undefined) this.#answerMs.set(concurrency, meanMs);
        return { level, limits };
      }
      if (trial === mostTries)
        throw unavailable(
          'TIMED_OUT',
          `concurrency ${concurrency}: in a window of ${significant(elapsedMs / 1000)} s the mean latency of ${significant(meanMs)} ms and ${requests} answers do not agree`,
        );
      length = Math.max(2 * length, windowLength(windowMs, concurrency, Math.max(meanMs, turnMs(counts))));
    }
  }

  async #window(
    server: InferenceServer,
    tuned: readonly string[],
    concurrency: number,
    windowMs: number,
    patienceMs: number,
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
          warmupMs: leastWarmUpMs,
          warmupAnswers: concurrency,
          patienceMs,
        },
      },
      progress,
      this.#signal,
    );
    const [level] = run.levels;
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

function isUnanswered(error: unknown): boolean {
  return error instanceof TritonError && error.reason === 'TIMED_OUT';
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
