/** The command line of the benchmark. */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { requiredLoads } from './reports/figures.js';
import { delayLoads, models, sweep, type BenchModel } from './measuring/models.js';
import { readmeDelays, readmeLoads } from './readme/rows.js';

/** Options of the benchmark. */
export interface Options {
  /** Whether to print the results as JSON. */
  readonly json: boolean;
  /** Where to write a page with plots. */
  readonly html: string | undefined;
  /** The loads of a model: those with a figure, the chosen ones, every power of two, or the README's. */
  readonly loads: 'quick' | 'chosen' | 'sweep' | 'readme';
  /** Whether to write the README's tables and picture; 'stored': from the stored results of the last such run. */
  readonly readme: 'measured' | 'stored' | undefined;
  /** Names of models and other parts; empty: all. */
  readonly only: readonly string[];
  readonly rounds: number;
  /** Length of a turn. Models with long batches have longer turns. */
  readonly windowMs: number;
  readonly threading: 'equal' | 'defaults';
  /** Whether the required loads are measured again with every contestant's defaults. */
  readonly defaultsToo: boolean;
  /**
   * Threads of every contestant if threading is 'equal'. The bare loop, which has no default, always uses it.
   */
  readonly threads: number;
}

/** The parts besides the loads of models. */
const parts: readonly string[] = [
  'cache',
  'delay',
  'ensembles',
  'forms',
  'javascript',
  'metrics',
  'native',
  'plugins',
  'python',
  'queues',
  'ragged',
  'sequences',
  'shared-memory',
  'streams',
  'strings',
  'traces',
  'warmup',
  'weights',
];

/** The default path of the page. */
export const defaultPage = 'build/bench/report.html';

/** The usage text. */
export const usage: string = `npm run bench -- [options]
  --quick         the loads that have a required figure, in under two minutes, if nothing else runs
  --only <part>   ${models.map(({ name }) => name).join(', ')},
                  ${parts.join(', ')}; may be repeated
  --html [file]   also write a page with plots (default ${defaultPage}); without --quick every model is
                  then run with 1, 2, 4 … 512 requests outstanding
  --rounds <n>    interleaved rounds (default 5, with --html 3)
  --window <ms>   length of a turn (default 500, with --html 200, with --quick 100); longer for models
                  of which it would not hold several batches
  --threads <n>   threads of each contestant in all (default: the cores)
  --defaults      leave threads and spinning to everybody's defaults, and judge no load
  --json          print JSON instead of tables
  --readme        measure what README.md and docs/performance.md show, in some two minutes, and write their
                  tables and docs/benchmark.svg; with --stored write them from bench/readme/results.json
Without --quick, --only and --defaults, the loads that have a required figure are measured once more with
everybody's defaults: a second part of the report, by which no figure is judged.`;

/** Milliseconds of a turn. */
const windows: Readonly<Record<Options['loads'], string>> = {
  quick: '100',
  chosen: '500',
  sweep: '200',
  readme: '150',
};

/**
 * Reads the arguments.
 *
 * @throws An Error with a message for the user.
 */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: withPage(args),
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      defaults: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      html: { type: 'string' },
      rounds: { type: 'string' },
      window: { type: 'string' },
      threads: { type: 'string' },
      readme: { type: 'boolean', default: false },
      stored: { type: 'boolean', default: false },
    },
  });
  const names = [...models.map(({ name }) => name), ...parts];
  const only = values.only.flatMap((list) => list.split(','));
  for (const name of only) {
    if (!names.includes(name)) throw new Error(`--only takes ${names.join(', ')}, not '${name}'`);
  }
  if (values.quick) {
    const idle = only.find((name) => !parts.includes(name) && requiredLoads(name).length === 0);
    if (idle !== undefined)
      throw new Error(`--quick has no loads of ${idle}, of which no figure is required`);
  }
  if (values.defaults && values.threads !== undefined) {
    throw new Error('--defaults leaves everybody their own threads: not with --threads');
  }
  if (values.stored && !values.readme) throw new Error('--stored goes with --readme');
  if (values.readme && (values.quick || values.defaults || values.html !== undefined || only.length > 0)) {
    throw new Error('--readme has rows of its own: not with --quick, --only, --html or --defaults');
  }
  const loads = values.readme
    ? 'readme'
    : values.quick
      ? 'quick'
      : values.html === undefined
        ? 'chosen'
        : 'sweep';
  return {
    html: values.html,
    loads,
    readme: values.readme ? (values.stored ? 'stored' : 'measured') : undefined,
    json: values.json,
    only,
    rounds: count('--rounds', values.rounds ?? (loads === 'sweep' || loads === 'readme' ? '3' : '5')),
    windowMs: count('--window', values.window ?? windows[loads]),
    threading: values.defaults ? 'defaults' : 'equal',
    defaultsToo: !values.quick && !values.defaults && !values.readme && only.length === 0,
    threads: count('--threads', values.threads ?? String(availableParallelism())),
  };
}

/**
 * Reads a whole number of at least 1.
 *
 * @throws An Error with a message for the user.
 */
export function count(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new Error(`${option} takes a whole number of at least 1, not '${text}'`);
  }
  return value;
}

/** The arguments with the page's default path where `--html` has none. */
function withPage(args: readonly string[]): string[] {
  return args.flatMap((argument, i) =>
    argument === '--html' && (args[i + 1]?.startsWith('-') ?? true) ? [argument, defaultPage] : [argument],
  );
}

/** Whether a part, or a model's loads, may run. */
export function wants({ only }: Options, name: string): boolean {
  return only.length === 0 || only.includes(name);
}

/** The numbers of outstanding requests that a model runs with. */
export function loadsOf(options: Options, { name, outstanding }: BenchModel): readonly number[] {
  if (!wants(options, name)) return [];
  return { quick: requiredLoads(name), chosen: outstanding, sweep, readme: readmeLoads(name) }[options.loads];
}

/** The numbers of outstanding requests under which the event loop's delay is measured. */
export function delaysOf(options: Options, { name }: BenchModel): readonly number[] {
  if (options.loads === 'readme') return readmeDelays(name);
  return wants(options, 'delay') ? (delayLoads[name]?.outstanding ?? []) : [];
}

/** Whether a model must be opened, for its loads or for the event loop's delay. */
export function needs(options: Options, model: BenchModel): boolean {
  return loadsOf(options, model).length > 0 || delaysOf(options, model).length > 0;
}

/** Length of a model's turn under a load, in milliseconds. */
export function windowOf({ windowMs }: Options, { leastWindowMs = 0 }: BenchModel): number {
  return Math.max(windowMs, leastWindowMs);
}
