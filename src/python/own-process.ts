/**
 * Processes of this environment. They end with it, also where it is a worker that is terminated: Node waits for a process on the
 * event loop of the thread that has started it.
 */

import { execFile, type ChildProcess } from 'node:child_process';
import { promisify } from 'node:util';
import { addon } from '../addon/load.js';

const execute = promisify(execFile);

/** Starts a process that ends with this environment, until {@link disown} is called. */
export function own(start: () => ChildProcess): ChildProcess {
  const child = addon().keepChildren(start);
  // Not every system lists the children of a thread.
  if (child.pid !== undefined) addon().addChild(child.pid);
  return child;
}

/** The process has ended. */
export function disown({ pid }: ChildProcess): void {
  if (pid !== undefined) addon().removeChild(pid);
}

/** What {@link run} may be told. */
export interface RunOptions {
  /** After so long the process is ended. */
  readonly timeout?: number;
  readonly maxBuffer?: number;
}

/** Runs a program to its end, and returns what it prints. Rejects if its exit code is not 0. */
export async function run(file: string, args: readonly string[], options: RunOptions): Promise<string> {
  let result: ReturnType<typeof execute> | undefined;
  const child = own(() => {
    result = execute(file, args, options);
    // It may reject before it is awaited.
    result.catch(() => undefined);
    return result.child;
  });
  child.once('exit', () => {
    disown(child);
  });
  // `own` has called the function.
  const { stdout } = await (result as ReturnType<typeof execute>);
  return String(stdout);
}
