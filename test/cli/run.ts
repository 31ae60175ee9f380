/** Runs the command in a process of its own. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));

/** What a run of the command came to. */
export interface CommandOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `tritonts` with these arguments. */
export function tritonts(...args: readonly string[]): Promise<CommandOutcome> {
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, [main, ...args], (error, stdout, stderr) => {
      if (child.exitCode === null) reject(error ?? new Error('it did not end by itself'));
      else resolve({ code: child.exitCode, stdout, stderr });
    });
  });
}
