/** The command line of `npm run bench -- scale`. */
import { parseArgs } from 'node:util';
import { count } from '../options.js';

/** Options of the command. */
export interface ScaleOptions {
  readonly only: readonly Part[];
  readonly rounds: number;
  readonly windowMs: number;
  readonly json: boolean;
}

type Part = 'served' | 'load' | 'memory' | 'map';

const parts: readonly Part[] = ['served', 'load', 'memory', 'map'];

/** The usage text. */
export const scaleUsage: string = `npm run bench -- scale [options]
  --only <part>  ${parts.join(', ')}; may be repeated
  --rounds <n>   interleaved rounds (default 5)
  --window <ms>  length of a turn (default 400)
  --json         print JSON instead of a table`;

/**
 * Reads the arguments.
 *
 * @throws An Error with a message for the user.
 */
export function readScaleOptions(args: readonly string[]): ScaleOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string', default: '5' },
      window: { type: 'string', default: '400' },
      json: { type: 'boolean', default: false },
    },
  });
  const only = values.only.flatMap((list) => list.split(','));
  const unknown = only.find((name) => !parts.some((part) => part === name));
  if (unknown !== undefined) throw new Error(`--only takes ${parts.join(', ')}, not '${unknown}'`);
  return {
    only: only.length === 0 ? parts : parts.filter((part) => only.includes(part)),
    rounds: count('--rounds', values.rounds),
    windowMs: count('--window', values.window),
    json: values.json,
  };
}
