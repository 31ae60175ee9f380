/** Programs in a process of their own: how they end, what they say, how long that takes. */

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What a child process came to. */
export interface ChildOutcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Milliseconds from its first line that says `ready` to its end; NaN where it never said so. */
  readonly endMs: number;
}

/** Options of {@link runChild}. */
export interface ChildOptions {
  /** Sent when it says `ready`. */
  readonly signal?: NodeJS.Signals;
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
  /** When to kill it, in milliseconds (default 30,000). */
  readonly limitMs?: number;
}

/**
 * Runs a compiled program; it says `ready` on a line of its own when what is to be looked at begins.
 *
 * @param program - URL of the JavaScript file.
 */
export function runChild(
  program: URL,
  args: readonly string[],
  { signal, env = {}, flags = [], limitMs = 30_000 }: ChildOptions = {},
): Promise<ChildOutcome> {
  const child = spawn(process.execPath, [...flags, fileURLToPath(program), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
  let stdout = '';
  let stderr = '';
  let ready = NaN;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (!Number.isNaN(ready) || !/^ready$/m.test(stdout)) return;
    ready = performance.now();
    if (signal) child.kill(signal);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, ended) => {
      clearTimeout(timer);
      resolve({ code, signal: ended, stdout, stderr, endMs: performance.now() - ready });
    });
  });
}
