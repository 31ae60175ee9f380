/** Runs the command in a process of its own. */

import { runChild, type ChildOutcome } from '../support/child.js';

const main = new URL('../../src/cli/main.js', import.meta.url);

/** Runs `tritonts` with these arguments. */
export function tritonts(...args: readonly string[]): Promise<ChildOutcome> {
  return runChild(main, args);
}
