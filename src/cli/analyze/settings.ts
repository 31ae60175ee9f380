/** What the flags of `tritonts analyze` ask for, checked as far as that needs no model. */

import { basename, dirname, resolve } from 'node:path';
import type { AnalyzeOptions } from '../../analyze/analyze.js';
import { readObjective, type LatencyFigure, type Objective } from '../../analyze/search/objective.js';
import { settingNames, type SearchLimit } from '../../analyze/space/axes.js';
import type { SettingName, SettingValue } from '../../analyze/space/space.js';
import { invalidArgument } from '../../errors.js';
import { didYouMean } from '../../suggest.js';
import type { FlagValues } from '../flags/parse-flags.js';
import { Faults, isUrl, requestSettings, serverSettings } from '../perf/request-settings.js';

/** See the head of this file. */
export interface AnalyzeSettings {
  readonly options: AnalyzeOptions;
  readonly json: string | undefined;
  readonly plot: string | undefined;
  readonly write: boolean;
}

/**
 * Reads the flags.
 *
 * @throws {@link TritonError} INVALID_ARG with a list of all faults.
 */
export function analyzeSettings(values: FlagValues): AnalyzeSettings {
  const faults = new Faults();
  const { model, repositories } = placeOf(values, faults);
  const objective = objectiveOf(values, faults);
  const requests = requestSettings(values, faults, 1);
  const levels = faults.read(() => levelsOf(values.text('concurrency'), objective), [1]);
  const budgetMs = faults.read(() => budgetOf(values.text('budget') ?? ''), 0);
  const limits = faults.read(() => limitsOf(values.list('search')), new Map<SettingName, SearchLimit>());
  faults.check();
  return {
    options: {
      server: serverSettings(values, repositories),
      model,
      version: values.text('model-version'),
      composing: values
        .list('bls-composing-models')
        .flatMap((names) => names.split(','))
        .filter((name) => name !== ''),
      levels,
      requests,
      objective,
      budgetMs,
      limits,
    },
    json: values.text('json'),
    plot: values.text('plot'),
    write: values.has('write'),
  };
}

function placeOf(
  values: FlagValues,
  faults: Faults,
): { readonly model: string; readonly repositories: readonly string[] } {
  const places = values.list('model-repository');
  const model = values.text('model-name');
  const url = places.find(isUrl);
  if (url !== undefined)
    faults.add(
      `analyze loads models in this process, and cannot change those of the server ${url}: give a folder`,
    );
  if (places.length === 0) faults.add("analyze needs a model's folder, or -m <name> and a repository");
  if (model !== undefined) return { model, repositories: places };
  if (places.length > 1)
    faults.add(`without -m, analyze takes the folder of one model, but received ${places.join(', ')}`);
  const folder = resolve(places[0] ?? '.');
  return { model: basename(folder), repositories: [dirname(folder)] };
}

function objectiveOf(values: FlagValues, faults: Faults): Objective {
  const text = values.text('objective') ?? '';
  const read = readObjective(text);
  if (read === undefined)
    faults.add(
      `expected throughput, latency, memory or a limit such as p99<20ms for --objective but received '${text}'`,
    );
  const { goal, limit } = read ?? { goal: 'throughput', limit: undefined };
  const percentile = values.text('percentile');
  if (percentile !== undefined && goal !== 'latency') faults.add('--percentile needs --objective=latency');
  const latency: LatencyFigure =
    percentile === '50' || percentile === '90' || percentile === '95' || percentile === '99'
      ? `p${percentile}`
      : 'mean';
  const memory = values.text('max-memory');
  return {
    goal,
    limit,
    latency,
    mostMemoryBytes: memory === undefined ? undefined : Number(memory) * 2 ** 20,
  };
}

/** More requests than this are hardly ever waiting in one process. */
const mostAtOnce = 65_536;

function levelsOf(text: string | undefined, { goal, limit }: Objective): readonly number[] {
  if (text === undefined) return limit !== undefined ? [1, 4, 16, 64] : goal === 'latency' ? [1, 8] : [64];
  const levels = text.split(',').map((one) => (/^\d+$/.test(one.trim()) ? Number(one) : NaN));
  if (!levels.every((one) => one >= 1 && one <= mostAtOnce))
    throw invalidArgument(
      `expected integers from 1 to ${mostAtOnce} with commas for --concurrency but received '${text}'`,
    );
  return [...new Set(levels)].sort((a, b) => a - b);
}

/** Less time says nothing, and more than a day is a mistake. */
const budgetRange = { least: 1, most: 86_400 } as const;

function budgetOf(text: string): number {
  const [, number, unit = 's'] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|min)?$/.exec(text) ?? [];
  const seconds = Number(number) * (unit === 'ms' ? 1e-3 : unit === 's' ? 1 : 60);
  if (!(seconds >= budgetRange.least && seconds <= budgetRange.most))
    throw invalidArgument(
      `expected a time such as 120s or 5m for --budget, of 1 s to a day, but received '${text}'`,
    );
  return seconds * 1000;
}

/** What each setting may be, for messages, and whether a word or number is that. */
const allowed: Readonly<
  Record<SettingName, { readonly expected: string; readonly allows: (value: SettingValue) => boolean }>
> = {
  instances: { expected: 'integers from 1', allows: isInteger(1, 1024) },
  threads: {
    expected: "integers from 1, or 'default'",
    allows: (value) => value === 'default' || isInteger(1, 1024)(value),
  },
  max_batch_size: { expected: 'integers from 1', allows: isInteger(1, 2 ** 20) },
  delay: { expected: 'microseconds from 0', allows: isInteger(0, 1e9) },
  preferred: {
    expected: "integers from 1, or 'none'",
    allows: (value) => value === 'none' || isInteger(1, 2 ** 20)(value),
  },
  inline: {
    expected: "'off', 'auto', or microseconds from 1 to 10000",
    allows: (value) => value === 'off' || value === 'auto' || isInteger(1, 10_000)(value),
  },
};

function isInteger(least: number, most: number): (value: SettingValue) => boolean {
  return (value) => typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most;
}

function limitsOf(given: readonly string[]): ReadonlyMap<SettingName, SearchLimit> {
  const limits = new Map<SettingName, SearchLimit>();
  for (const text of given) {
    const [, written = text, values = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    const setting = settingNames.find((name) => name === written);
    if (setting === undefined)
      throw invalidArgument(
        `--search has no setting '${written}'${didYouMean(written, settingNames)}; its settings are ${settingNames.join(', ')}`,
      );
    limits.set(setting, limitOf(setting, values, text));
  }
  return limits;
}

function limitOf(setting: SettingName, text: string, whole: string): SearchLimit {
  if (text === 'present') return { kind: 'present' };
  const { expected, allows } = allowed[setting];
  const read = (part: string): SettingValue => (/^\d+$/.test(part) ? Number(part) : part);
  const [least, most, ...others] = text.split(':').map(read);
  if (
    typeof least === 'number' &&
    typeof most === 'number' &&
    others.length === 0 &&
    least <= most &&
    allows(least) &&
    allows(most)
  )
    return { kind: 'range', least, most };
  const values = text.split(',').map(read);
  if (!values.every(allows))
    throw invalidArgument(
      `expected ${expected}, as a list or as a range least:most, or 'present' for --search=${setting}= but received '${whole}'`,
    );
  return { kind: 'values', values: [...new Set(values)] };
}
