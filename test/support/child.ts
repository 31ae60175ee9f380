/** Runs programs in their own processes, and captures their ends and output. */

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The outcome of a child process. */
export interface ChildOutcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Options of {@link runChild}. */
export interface ChildOptions {
  /** A signal that is sent when it prints a line `ready`. */
  readonly signal?: NodeJS.Signals;
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
}

/** A child that has not ended by then counts as hanging. */
const limitMs = 60_000;

/**
 * Runs a compiled program. It prints a line `ready` when the interesting part begins. If it does not end it is
 * killed, and the signal of its outcome is SIGKILL.
 *
 * @param program - URL of the JavaScript file.
 */
export function runChild(
  program: URL,
  args: readonly string[],
  { signal, env = {}, flags = [] }: ChildOptions = {},
): Promise<ChildOutcome> {
  const child = spawn(process.execPath, [...flags, fileURLToPath(program), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
  let stdout = '';
  let stderr = '';
  let ready = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (ready || !/^ready$/m.test(stdout)) return;
    ready = true;
    if (signal) child.kill(signal);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, ended) => {
      clearTimeout(timer);
      resolve({ code, signal: ended, stdout, stderr });
    });
  });
}
