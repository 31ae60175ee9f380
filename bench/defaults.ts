/**
 * The second part of a whole run: the loads with a required figure, with every contestant's defaults. It has
 * its own process, because the runtime's threads belong to the process and are created once.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { resultsFrom } from './reports/json.js';
import { models } from './measuring/models.js';
import { loadsOf, readOptions, type Options } from './options.js';
import type { Part } from './reports/results.js';

/** The arguments of the second part, so that it measures like the first. */
export function defaultsArguments({ rounds, windowMs }: Options): string[] {
  const common = [
    '--quick',
    '--defaults',
    '--json',
    '--rounds',
    String(rounds),
    '--window',
    String(windowMs),
  ];
  const quick = readOptions(['--quick']);
  const required = models.filter((model) => loadsOf(quick, model).length > 0).map(({ name }) => name);
  return [...common, '--only', required.join(',')];
}

/** The outcome of the second part. */
export interface Second {
  /** Absent if it failed. */
  readonly part: Part | undefined;
  readonly notes: readonly string[];
}

/**
 * Runs the second part. A failure becomes a note, so that the results of the first part are not lost.
 */
export async function measureDefaults(options: Options): Promise<Second> {
  try {
    const { setup, models: heads, loads, notes } = resultsFrom(await run(defaultsArguments(options)));
    return {
      part: { setup, models: heads, loads },
      notes: notes.map((note) => `With everybody's defaults: ${note}`),
    };
  } catch (error) {
    return { part: undefined, notes: [`Everybody's defaults could not be measured: ${String(error)}`] };
  }
}

/** Runs the benchmark in a child process and returns its output. Its progress is shown. */
async function run(args: readonly string[]): Promise<string> {
  const main = fileURLToPath(new URL('main.js', import.meta.url));
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
  if (child.exitCode !== 0) throw new Error(`it ended with ${String(child.exitCode ?? child.signalCode)}`);
  return output;
}
