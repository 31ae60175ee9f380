/** Parses the command line of `tritonts serve`. */

import { parseFlags as parse, type FlagValues } from '../flags/parse-flags.js';
import { flags } from './flags.js';

export type { FlagValues } from '../flags/parse-flags.js';

/**
 * Parses a command line. Arguments that stand alone are model repositories.
 *
 * @throws {@link TritonError} INVALID_ARG with a list of all faults.
 */
export function parseFlags(args: readonly string[]): FlagValues {
  return parse(flags, 'model-repository', inOne(args));
}

/** The flag that Triton's front end for OpenAI's clients takes with three arguments. */
const ofThree = '--openai-restricted-api';

/** Writes `--openai-restricted-api <apis> <key> <value>` as `--openai-restricted-api=<apis>:<key>=<value>`. */
function inOne(args: readonly string[]): string[] {
  const written: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? '';
    const [apis, key, value] = args.slice(i + 1, i + 4);
    const isOfThree =
      arg === ofThree && value !== undefined && [apis, key].every((one) => /^[\w,.-]+$/.test(one ?? '-='));
    if (isOfThree && key?.startsWith('-') === false) {
      written.push(`${ofThree}=${apis}:${key}=${value}`);
      i += 3;
    } else written.push(arg);
  }
  return written;
}
