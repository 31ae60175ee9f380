/** Runs the command, in its own process or in the test's. */

import type { TestContext } from 'node:test';
import { formatWithOptions } from 'node:util';
import { runCommand } from '../../src/cli/commands.js';
import { runChild, type ChildOutcome } from '../support/child.js';

const main = new URL('../../command/main.js', import.meta.url);

/** Runs `tritonts` with these arguments in a process of its own, which takes half a second of a core. */
export function tritonts(...args: readonly string[]): Promise<ChildOutcome> {
  return runChild(main, args);
}

/** A command's output and exit code. */
export interface CommandOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command in this process, and captures its output to `console`. */
export async function command(t: TestContext, ...args: readonly string[]): Promise<CommandOutcome> {
  const said = { log: '', error: '' };
  const mocks = (['log', 'error'] as const).map((method) =>
    t.mock.method(console, method, (...values: unknown[]) => {
      said[method] += `${formatWithOptions({}, ...values)}\n`;
    }),
  );
  try {
    const code = await runCommand(args);
    return { code, stdout: said.log, stderr: said.error };
  } finally {
    for (const { mock } of mocks) mock.restore();
  }
}
