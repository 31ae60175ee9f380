/** Searches the configuration of a model: finds what can be searched, searches it, and says what to change. */

import { addon } from '../addon/load.js';
import { editConfig, type ModelConfig } from '../config/index.js';
import { invalidArgument, TritonError } from '../errors.js';
import { clearTimeout, setTimeout } from '../timers.js';
import { significant } from '../perf/plot/numbers.js';
import { search } from './search/search.js';
import type { SearchProgress, SearchResult } from './search/world.js';
import { axesOf, type LeftOut, type SearchLimit } from './space/axes.js';
import { changesOf } from './space/changes.js';
import type { Candidate, SettingName, Space } from './space/space.js';
import type { TrialOptions } from './trial/trial-options.js';
import { Trials, type Limits, type TunedModel } from './trial/trials.js';
import { writtenModel } from './trial/written-models.js';

/** What is analyzed, and for how long. */
export interface AnalyzeOptions extends TrialOptions {
  readonly limits: ReadonlyMap<SettingName, SearchLimit>;
}

/** Hears of an analysis in progress. */
export interface AnalyzeProgress {
  /** The files that may have to change, before the first measurement. It may refuse them. */
  files?(files: readonly string[]): Promise<void>;
  /** What is searched, before the first measurement. */
  opened(space: Space, left: readonly LeftOut[]): void;
  running(progress: SearchProgress): void;
}

/** The change of a file. */
export interface FileChange {
  readonly model: string;
  readonly file: string;
  /** Undefined: there is no such file. */
  readonly before: string | undefined;
  readonly after: string;
}

/** What an analysis found. */
export interface Analysis {
  readonly space: Space;
  readonly left: readonly LeftOut[];
  readonly result: SearchResult;
  /** What limits the present configuration. */
  readonly presentLimits: readonly Limits[];
  /** What limits the best candidate. */
  readonly bestLimits: readonly Limits[];
  /** The files to change, if the best candidate is to replace the present one. */
  readonly files: readonly FileChange[];
}

/**
 * Analyzes a model.
 *
 * @param signal - Ends the search: what it has so far is returned.
 * @throws {@link TritonError} INVALID_ARG for options that do not fit the model, if nothing can be searched, and for a budget in
 *   which no other candidate was measured; the error of the present configuration if it cannot be loaded or measured.
 */
export async function analyze(
  options: AnalyzeOptions,
  progress: AnalyzeProgress,
  signal: AbortSignal,
): Promise<Analysis> {
  const over = new AbortController();
  const timer = setTimeout(() => {
    over.abort();
  }, options.budgetMs);
  try {
    return await analyzeUntil(options, progress, signal, over.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** @param over - Fires when the budget is over, which ends the measurement that is under way. */
async function analyzeUntil(
  options: AnalyzeOptions,
  progress: AnalyzeProgress,
  signal: AbortSignal,
  over: AbortSignal,
): Promise<Analysis> {
  const repositories = [options.server.modelRepository ?? []].flat();
  const beganMs = performance.now();
  const isOver = (): boolean => over.aborted;
  const tooShort = (why: string): TritonError =>
    invalidArgument(`--budget of ${significant(options.budgetMs / 1000)} s is too short: ${why}`, {
      model: options.model,
    });
  // The folder is looked for before anything is loaded.
  await writtenModel(repositories, options.model);
  const trials = new Trials(options, AbortSignal.any([signal, over]));
  const configs = await trials.present().catch((error: unknown) => {
    throw isOver() && !signal.aborted ? tooShort(`model '${options.model}' was not loaded in it`) : error;
  });
  const { space, left } = spaceOf(options, configs, trials);
  const tuned: readonly TunedModel[] = await Promise.all(
    configs.map(async (config) => ({ config, written: await writtenModel(repositories, config.name) })),
  );
  await progress.files?.(tuned.map(({ written: { file } }) => file));
  progress.opened(space, left);
  if (space.axes.length === 0) {
    const why = left.map(({ settings, why: reason }) => `${settings.join(', ')}: ${reason}`).join('; ');
    throw invalidArgument(`model '${options.model}' has nothing to search: ${why}`, { model: options.model });
  }
  const result = await search(space, options.objective, options.budgetMs, {
    measure: (candidate, windowMs) => trials.measure(space, tuned, candidate, windowMs),
    now: () => performance.now(),
    beganMs,
    stopped: () => signal.aborted,
    isOver,
    told: (one) => {
      progress.running(one);
    },
  });
  const [present] = result.tried;
  const loadText = `a load of model '${options.model}' takes ${significant((trials.loadMs ?? 0) / 1000)} s`;
  const failure = present?.failure;
  if (present?.figures === undefined && failure === undefined && !result.stopped)
    throw tooShort(`the present configuration was not measured in it, and ${loadText}`);
  if (present?.figures === undefined && !result.stopped)
    throw new TritonError('UNAVAILABLE', `the present configuration cannot be measured: ${failure}`, {
      model: options.model,
    });
  if (result.tried.length === 1 && !result.stopped)
    throw tooShort(
      `no other candidate was measured in it, ${loadText}, and ${significant(result.elapsedMs / 1000)} s are over`,
    );
  return {
    space,
    left,
    result,
    presentLimits: present === undefined ? [] : trials.limitsOf(present.candidate),
    bestLimits: trials.limitsOf(result.best),
    files: result.proposed ? filesOf(space, tuned, result.best) : [],
  };
}

function spaceOf(
  { limits, levels, requests, server }: AnalyzeOptions,
  configs: readonly ModelConfig[],
  trials: Trials,
): { readonly space: Space; readonly left: readonly LeftOut[] } {
  const cores = server.threads ?? addon().cores();
  const load = Math.max(...levels) * requests.batch;
  const found = configs.map((config) => {
    const batch = Math.max(requests.batch, trials.leastRowsOf(config.name));
    return axesOf({ config, cores, load, batch, limits });
  });
  return {
    space: { axes: found.flatMap(({ axes }) => axes), cores },
    left: found.flatMap(({ left }) => left),
  };
}

function filesOf(space: Space, tuned: readonly TunedModel[], best: Candidate): readonly FileChange[] {
  return tuned.flatMap(({ written: { file, text, config: written }, config }) => {
    const changes = changesOf(space, best, { config, written });
    if (changes.length === 0) return [];
    return [
      { model: config.name, file, before: text, after: editConfig({ file, text: text ?? '' }, changes) },
    ];
  });
}
