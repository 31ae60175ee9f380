/**
 * Child processes that end with this environment, even if it is a worker that is terminated. Node itself notices
 * the end of a child only on the event loop of the thread that started it.
 */

import { execFile, type ChildProcess } from 'node:child_process';
import { promisify } from 'node:util';
import { addonIfAny, addonUnlessSpared } from './load.js';

const execute = promisify(execFile);

/**
 * Starts a process that ends with this environment, until {@link disown} is called. The addon is loaded for that, also beside a test
 * server. Where a test server has none, the process is just started.
 */
export function own(start: () => ChildProcess): ChildProcess {
  const addon = addonIfAny();
  if (addon === undefined) return start();
  const child = addon.keepChildren(start);
  // Register the child explicitly, because not every system lists the children of a thread.
  if (child.pid !== undefined) addon.addChild(child.pid);
  return child;
}

/** Unregisters a process that has ended. */
export function disown({ pid }: ChildProcess): void {
  if (pid !== undefined) addonUnlessSpared()?.removeChild(pid);
}

/** Options of {@link run}. */
export interface RunOptions {
  /** The process is ended after this time, in milliseconds. */
  readonly timeout?: number;
  readonly maxBuffer?: number;
}

/** Runs a program to its end, and returns what it prints. Rejects if its exit code is not 0. */
export async function run(file: string, args: readonly string[], options: RunOptions): Promise<string> {
  let result: ReturnType<typeof execute> | undefined;
  const child = own(() => {
    // A program may ignore SIGTERM.
    result = execute(file, args, { ...options, killSignal: 'SIGKILL' });
    // The promise may reject before it is awaited below.
    result.catch(() => undefined);
    return result.child;
  });
  child.once('exit', () => {
    disown(child);
  });
  // `own` has called the function, so `result` is set.
  const { stdout } = await (result as ReturnType<typeof execute>);
  return String(stdout);
}
