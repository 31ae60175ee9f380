/**
 * Whether `tritonts analyze` finds the best configuration: `npm run bench -- analyze`
 *
 * All candidates of a model are measured in several rounds. Then the search runs with a budget. At last what it found and the
 * best candidates of all are measured in turn.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { analyze, type AnalyzeOptions } from '../../src/analyze/analyze.js';
import { compareScores, type Figures, type Objective } from '../../src/analyze/search/objective.js';
import { mergeRounds, settle, type Settled } from '../../src/analyze/search/verdict.js';
import { axesOf } from '../../src/analyze/space/axes.js';
import {
  allOf,
  candidateText,
  keyOf,
  presentOf,
  type Candidate,
  type Space,
} from '../../src/analyze/space/space.js';
import { Trials, type TunedModel } from '../../src/analyze/trial/trials.js';
import { writtenModel } from '../../src/analyze/trial/written-models.js';
import { significant } from '../../src/perf/plot/numbers.js';
import { writeRepository } from '../../test/support/repository.js';
import { describeMachine } from '../measuring/machine.js';
import { count } from '../options.js';
import { machineText } from '../reports/report.js';
import { estimate, ratio } from '../reports/statistics.js';
import { table } from '../reports/table.js';
import { knownModels, type KnownModel } from './models.js';

const usage = 'npm run bench -- analyze [--only <model>]… [--budget <s>] [--rounds <n>] [--window <ms>]';

/** What is found must reach this share of the objective's figure that the best candidate has. */
const wanted = 0.95;
/** So many of the best candidates are compared with what was found. */
const compared = 4;

interface Settings {
  readonly budgetMs: number;
  readonly rounds: number;
  readonly windowMs: number;
}

/** Measures candidates in turn. Returns the figures of each, round by round, of those that did not fail. */
async function measureAll(
  trials: Trials,
  space: Space,
  tuned: readonly TunedModel[],
  candidates: readonly Candidate[],
  { rounds, windowMs }: Pick<Settings, 'rounds' | 'windowMs'>,
): Promise<ReadonlyMap<string, readonly Figures[]>> {
  const of = new Map(candidates.map((one): [string, Figures[]] => [keyOf(one), []]));
  for (let round = 0; round < rounds; round++) {
    const order = candidates.map((_, i) => candidates[(i + round) % candidates.length] ?? []);
    for (const candidate of round % 2 === 0 ? order : order.toReversed()) {
      const measured = await trials.measure(space, tuned, candidate, windowMs);
      if ('figures' in measured) of.get(keyOf(candidate))?.push(measured.figures);
    }
  }
  return of;
}

/** The rounds of candidates as the objective sees them, the best candidate first. Those that failed in a round are missing. */
function ranked(
  objective: Objective,
  present: Candidate,
  candidates: readonly Candidate[],
  figures: ReadonlyMap<string, readonly Figures[]>,
  rounds: number,
): readonly { readonly candidate: Candidate; readonly settled: Settled }[] {
  const [first, ...rest] = figures.get(keyOf(present)) ?? [];
  const base = first === undefined ? undefined : mergeRounds([first, ...rest]);
  return candidates
    .flatMap((candidate) => {
      const [one, ...more] = figures.get(keyOf(candidate)) ?? [];
      if (one === undefined || more.length + 1 < rounds) return [];
      return [{ candidate, settled: settle(objective, [one, ...more], base) }];
    })
    .sort((a, b) => compareScores(a.settled.score, b.settled.score));
}

/** The objective's figure, as it is read: less is better for memory. */
function figureText({ goal }: Objective, values: readonly number[]): string {
  const { median: value } = estimate(values);
  return goal === 'memory' ? `${significant(1 / value / 2 ** 20)} MiB` : `${significant(value)} infer/s`;
}

/** A row of the table, and the share of the best candidate that the search has found. */
async function study(
  folder: string,
  known: KnownModel,
  settings: Settings,
): Promise<{ readonly row: readonly string[]; readonly share: number }> {
  const { name, title, model, levels, limits, objective } = known;
  const load = Math.max(...levels);
  const repository = await writeRepository(join(folder, name), { [name]: model() });
  const options: AnalyzeOptions = {
    server: { modelRepository: repository },
    model: name,
    version: undefined,
    composing: [],
    levels,
    requests: {
      parameters: {},
      sequences: { length: undefined, variation: 20, firstId: 1, lastId: 2 ** 53 - 1, atOnce: 1 },
      streaming: false,
      batch: 1,
      shapes: new Map(),
      inputData: [],
      stringLength: 16,
      stringData: undefined,
      seed: 1,
    },
    objective,
    budgetMs: settings.budgetMs,
    limits,
  };
  const { signal } = new AbortController();
  const trials = new Trials(options, signal);
  const configs = await trials.present();
  const cores = availableParallelism();
  const space: Space = {
    cores,
    axes: configs.flatMap((config) => axesOf({ config, cores, load, batch: 1, limits }).axes),
  };
  const tuned = await Promise.all(
    configs.map(async (config) => ({ config, written: await writtenModel([repository], name) })),
  );
  const all = allOf(space);
  const present = presentOf(space);
  const figures = await measureAll(trials, space, tuned, all, settings);
  const silent = { opened: () => undefined, running: () => undefined };
  const { result } = await analyze(options, silent, signal);
  const best = ranked(objective, present, all, figures, settings.rounds)
    .slice(0, compared)
    .map(({ candidate }) => candidate);
  // The objective may be about a share of what the present configuration has.
  const both = [...new Map([present, result.best, ...best].map((one) => [keyOf(one), one])).values()];
  const rounds = settings.rounds + 4;
  const turns = await measureAll(trials, space, tuned, both, { rounds, windowMs: 2 * settings.windowMs });
  const judged = ranked(objective, present, both, turns, rounds);
  const [first] = judged;
  const found = judged.find(({ candidate }) => keyOf(candidate) === keyOf(result.best));
  if (first === undefined || found === undefined) throw new Error(`${name}: candidates have no figures`);
  const share = ratio(found.settled.values, first.settled.values);
  const { score } = found.settled;
  const gain = (result.verdict?.ratio.change ?? 0) * 100;
  const row = [
    title,
    objective.limit === undefined ? objective.goal : `${objective.limit.latency} < ${objective.limit.ms} ms`,
    String(all.length),
    candidateText(space, first.candidate),
    candidateText(space, result.best) + (score.meets ? '' : ' (beyond the limits)'),
    significant(share.median),
    significant(share.spread),
    `${significant(gain)} %`,
    figureText(objective, first.settled.values),
    significant(result.elapsedMs / 1000),
  ];
  return { row, share: score.meets ? share.median : 0 };
}

const head = [
  ...['model', 'objective', 'candidates', 'best of all', 'found', 'of the best', '±', 'gain'],
  ...['figure', 's'],
];

function readOptions(): Settings & { readonly chosen: readonly KnownModel[] } {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      budget: { type: 'string' },
      rounds: { type: 'string' },
      window: { type: 'string' },
    },
  });
  const names = values.only?.flatMap((text) => text.split(','));
  const wrong = names?.find((name) => !knownModels.some((one) => one.name === name));
  if (wrong !== undefined)
    throw new Error(`--only takes ${knownModels.map(({ name }) => name).join(', ')}, not '${wrong}'`);
  return {
    chosen: knownModels.filter(({ name }) => names?.includes(name) ?? true),
    budgetMs: 1000 * count('--budget', values.budget ?? '30'),
    rounds: count('--rounds', values.rounds ?? '3'),
    windowMs: count('--window', values.window ?? '250'),
  };
}

async function main({ chosen, ...settings }: ReturnType<typeof readOptions>): Promise<void> {
  console.log(machineText(describeMachine()));
  const folder = await mkdtemp(join(tmpdir(), 'tritonts-analyze-'));
  const rows: (readonly string[])[] = [];
  const missed: string[] = [];
  try {
    for (const known of chosen) {
      const { row, share } = await study(folder, known, settings);
      rows.push(row);
      if (share < wanted) missed.push(`${known.title}: ${significant(share)} of the best, not ${wanted}`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  console.log(`\n${table(head, rows)}`);
  for (const text of missed) console.log(`missed: ${text}`);
}

let options: ReturnType<typeof readOptions> | undefined;
try {
  options = readOptions();
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  process.exitCode = 1;
}
if (options) await main(options);
