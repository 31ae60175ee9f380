/** Starts the process of an instance, or says why the system does not let it start. */

import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { Duplex } from 'node:stream';
import { unavailable, type TritonError } from '../errors.js';
import { own } from './own-process.js';

/** What helps against what the system says. */
const advice: Readonly<Record<string, string>> = {
  EMFILE: 'this process has no file descriptor left: `ulimit -n` sets how many it may have',
  ENFILE: 'the system has no file descriptor left',
  EAGAIN: 'the system starts no further process: `ulimit -u` and the limits of its container say how many',
  ENOMEM: 'the system has no memory for a process',
};

/** A process and the socket to it. */
export interface StartedProcess {
  readonly child: ChildProcess;
  /** Its descriptor 4. */
  readonly control: Duplex;
}

/**
 * Starts a process whose descriptor 4 is a pipe. A program that is not there is told of by the process's `error`
 * event.
 *
 * @throws {@link TritonError} UNAVAILABLE without a descriptor, a process or memory for it. Nothing is left then.
 */
export function startProcess(
  model: string,
  path: string,
  args: readonly string[],
  options: SpawnOptions,
): StartedProcess {
  let child: ChildProcess;
  try {
    child = own(() => spawn(path, args, options));
  } catch (error) {
    throw notStarted(model, path, error);
  }
  // Without a descriptor for its pipes there are none, and the error comes as an event.
  const control: unknown = (child.stdio as ChildProcess['stdio'] | undefined)?.[4];
  if (control instanceof Duplex) return { child, control };
  child.once('error', () => undefined);
  throw notStarted(model, path, { code: 'EMFILE' });
}

/** Whether the system lacks what a process needs: the program itself may be all right. */
export function isScarcity(error: unknown): boolean {
  return Object.hasOwn(advice, (error as NodeJS.ErrnoException | undefined)?.code ?? '');
}

/** The error for a process that did not start. */
export function notStarted(model: string, path: string, error: unknown): TritonError {
  const { code = '' } = error as NodeJS.ErrnoException;
  const why = advice[code] ?? (error instanceof Error ? error.message : String(error));
  const named = code === '' ? '' : ` (${code})`;
  return unavailable(
    isScarcity(error) ? 'NO_MEMORY' : 'MISSING',
    `model '${model}': '${path}' could not be started: ${why}${named}`,
    {
      model,
      cause: error,
    },
  );
}
