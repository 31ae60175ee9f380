/** The command line of the benchmark. */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { delayModel, models } from './models.js';

/** What to run. */
export interface Options {
  /** Fewer loads and shorter windows: all in under two minutes. */
  readonly quick: boolean;
  /** Print the results as JSON. */
  readonly json: boolean;
  /** Models by name; all without any. */
  readonly only: readonly string[];
  readonly rounds: number;
  readonly windowMs: number;
  readonly threading: 'equal' | 'defaults';
  /** For everybody, where threading is 'equal'. */
  readonly threads: number;
}

/** How to call it. */
export const usage: string = `npm run bench -- [options]
  --quick         the loads that have a required figure, in under two minutes
  --only <model>  ${models.map(({ name }) => name).join(', ')}, delay; may be repeated
  --rounds <n>    interleaved rounds (default 5)
  --window <ms>   length of a turn (default 500, with --quick 150)
  --threads <n>   threads of each contestant in all (default: the cores)
  --defaults      leave threads and spinning to everybody's defaults
  --json          print JSON instead of tables`;

/**
 * Reads the arguments.
 *
 * @throws An Error with a message for the user.
 */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      defaults: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string', default: '5' },
      window: { type: 'string' },
      threads: { type: 'string' },
    },
  });
  const names = [...models.map(({ name }) => name), 'delay'];
  const only = values.only.flatMap((list) => list.split(','));
  for (const name of only) {
    if (!names.includes(name)) throw new Error(`--only takes ${names.join(', ')}, not '${name}'`);
  }
  return {
    quick: values.quick,
    json: values.json,
    only,
    rounds: count('--rounds', values.rounds),
    windowMs: count('--window', values.window ?? (values.quick ? '150' : '500')),
    threading: values.defaults ? 'defaults' : 'equal',
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

/** Whether a model's loads, or the model for the event loop's delay, are wanted. */
export function wants({ only }: Options, name: string): boolean {
  return only.length === 0 || only.includes(name);
}

/** Whether a model must be opened: for its loads or for the event loop's delay. */
export function needs(options: Options, name: string): boolean {
  return wants(options, name) || (name === delayModel && wants(options, 'delay'));
}
