/** Starts the process of an instance, or explains why the system refuses to start it. */

import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { Duplex } from 'node:stream';
import { addon } from '../addon/load.js';
import type { NativeHostPolicy } from '../addon/native/version-config.js';
import { TritonError, unavailable } from '../errors.js';
import { own } from '../addon/own-process.js';
import { thrownText } from '../thrown-text.js';

/** Advice for the system's error codes. */
const advice: Readonly<Record<string, string>> = {
  EMFILE: 'this process has no file descriptor left: `ulimit -n` sets how many it may have',
  ENFILE: 'the system has no file descriptor left',
  EAGAIN: 'the system starts no further process: `ulimit -u` and the limits of its container say how many',
  ENOMEM: 'the system has no memory for a process',
};

/** A process and the socket to it. */
export interface StartedProcess {
  readonly child: ChildProcess;
  /** The socket that is the process' descriptor 4. */
  readonly control: Duplex;
}

/**
 * Starts a process whose descriptor 4 is a pipe. The process emits `error` if the program does not exist.
 *
 * @param hostPolicy - What the process is bound to (default: nothing).
 * @throws {@link TritonError} INTERNAL if it cannot be bound, UNAVAILABLE if the system lacks a descriptor, a process or memory. Then nothing is
 *   left.
 */
export function startProcess(
  model: string,
  path: string,
  args: readonly string[],
  options: SpawnOptions,
  hostPolicy?: NativeHostPolicy,
): StartedProcess {
  let child: ChildProcess;
  try {
    child = own(() => bound(model, hostPolicy, () => spawn(path, args, options)));
  } catch (error) {
    throw error instanceof TritonError ? error : notStarted(model, path, error);
  }
  // Without free descriptors the process has no pipes, and its error is emitted as an event.
  const control: unknown = (child.stdio as ChildProcess['stdio'] | undefined)?.[4];
  if (control instanceof Duplex) return { child, control };
  child.once('error', () => undefined);
  throw notStarted(model, path, { code: 'EMFILE' });
}

/** Calls a function on a thread that is bound, so that the process that it starts is. */
function bound<T>(model: string, policy: NativeHostPolicy | undefined, start: () => T): T {
  if (policy === undefined) return start();
  const made: T[] = [];
  const fault = addon().underHostPolicy(policy, () => made.push(start()));
  const [one] = made;
  if (one !== undefined) return one;
  throw new TritonError('INTERNAL', `model '${model}': ${fault}`, { model });
}

/** Whether the system lacks resources for a process, so that the program itself may be valid. */
export function isScarcity(error: unknown): boolean {
  return Object.hasOwn(advice, (error as NodeJS.ErrnoException | undefined)?.code ?? '');
}

/** The error for a process that did not start. */
export function notStarted(model: string, path: string, error: unknown): TritonError {
  const { code = '' } = error as NodeJS.ErrnoException;
  const why = advice[code] ?? thrownText(error);
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
