/** How much memory a candidate takes: it is loaded in a process of its own, which has no memory of others. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { ownFile } from '../../addon/own-file.js';
import { disown, own } from '../../addon/own-process.js';
import { TritonError, type TritonErrorCode } from '../../errors.js';
import { significant } from '../../perf/plot/numbers.js';
import { memoryOutsideHeap } from '../../registry/lazy/memory.js';
import { processBytes } from '../../registry/lazy/told-memory.js';
import { limited } from './limited.js';
import type { ChangedModel, TrialOptions } from './trial-options.js';

/** What the process is to load. */
export interface MemoryJob {
  readonly options: TrialOptions;
  readonly changed: readonly ChangedModel[];
}

/** What it says: how much it grew, or why the candidate cannot be loaded. */
export type MemoryAnswer =
  { readonly bytes: number } | { readonly code: TritonErrorCode; readonly message: string };

/**
 * Loads a candidate in a process of its own, and lets it answer.
 *
 * @returns How much the process grew, in bytes.
 * @throws {@link TritonError} the error of the load or of the answers; UNAVAILABLE if the process ended, or took too long.
 */
export async function memoryInProcess(
  options: TrialOptions,
  changed: readonly ChangedModel[],
  limitMs: number,
  signal: AbortSignal,
): Promise<number> {
  const program = ownFile('dist/src/analyze/trial/memory-process.js', 'which measures memory');
  const child = own(() =>
    fork(program, { serialization: 'advanced', execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] }),
  );
  const ended = once(child, 'exit');
  try {
    const late = `the memory of the candidate was not measured within ${significant(limitMs / 1000)} s`;
    // The process sends nothing else.
    const answered = once(child, 'message').then(([answer]) => answer as MemoryAnswer);
    const died = ended.then((): MemoryAnswer => {
      const how = child.signalCode ?? `code ${child.exitCode}`;
      return { code: 'UNAVAILABLE', message: `the process that measures memory ended with ${how}` };
    });
    child.send({ options, changed } satisfies MemoryJob);
    const answer = await limited(Promise.race([answered, died]), limitMs, signal, late);
    if ('bytes' in answer) return answer.bytes;
    throw new TritonError(answer.code, answer.message);
  } finally {
    child.kill('SIGKILL');
    await ended;
    disown(child);
  }
}

/** What the process has outside of V8's heap, and what its child processes have, in bytes; undefined: it cannot be read. */
export async function memoryOfModels(): Promise<number | undefined> {
  const own = memoryOutsideHeap();
  if (own === undefined) return undefined;
  const others = await Promise.all((await childrenOf()).map(processBytes));
  return others.reduce((sum, bytes) => sum + bytes, own);
}

/** The child processes. Systems without such files have models in Python, but do not tell what these take. */
async function childrenOf(): Promise<readonly number[]> {
  try {
    const threads = await readdir('/proc/self/task');
    const texts = await Promise.all(threads.map(childrenOfThread));
    return texts.flatMap((text) => text.split(' ').filter((pid) => pid !== '')).map(Number);
  } catch {
    return [];
  }
}

/** A thread may end while it is asked. */
async function childrenOfThread(thread: string): Promise<string> {
  try {
    return (await readFile(`/proc/self/task/${thread}/children`, 'latin1')).trim();
  } catch {
    return '';
  }
}
