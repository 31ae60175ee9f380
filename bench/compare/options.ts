/** The command line of `npm run bench -- compare`. */
import { parseArgs } from 'node:util';
import { count } from '../options.js';
import { compareRows } from './rows.js';

/** Options of the command. */
export interface CompareOptions {
  /** A commit in any form that git accepts. */
  readonly first: string;
  /** Undefined: the working tree. */
  readonly second: string | undefined;
  readonly only: readonly string[];
  readonly rounds: number;
  readonly windowMs: number;
}

/** The rows, by name. */
export const compared: readonly string[] = Object.keys(compareRows);

/** The usage text. */
export const compareUsage: string = `npm run bench -- compare <commit> [<commit>] [options]
  Without a second commit, the first is compared with the working tree.
  --only <row>    ${compared.join(', ')}; may be repeated
  --rounds <n>    interleaved rounds (default 9)
  --window <ms>   length of a turn (default 300)`;

/**
 * Reads the arguments.
 *
 * @throws An Error with a message for the user.
 */
export function readCompareOptions(args: readonly string[]): CompareOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string', default: '9' },
      window: { type: 'string', default: '300' },
    },
  });
  const [first, second, ...others] = positionals;
  if (first === undefined || others.length > 0) {
    throw new Error(`one commit or two, not ${positionals.length}`);
  }
  const only = values.only.flatMap((list) => list.split(','));
  const unknown = only.find((name) => !compared.includes(name));
  if (unknown !== undefined) throw new Error(`--only takes ${compared.join(', ')}, not '${unknown}'`);
  return {
    first,
    second,
    only: only.length === 0 ? compared : only,
    rounds: count('--rounds', values.rounds),
    windowMs: count('--window', values.window),
  };
}
