/** Models for tensors of any size, and what the tests of memory measure. */

import { identity, type Context } from '../server/harness.js';
import type { RepositoryModel } from '../support/repository.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { runChild, type ChildOptions, type ChildOutcome } from '../support/child.js';

/** y = x for FP32 [N, any]; each request runs alone. */
export function echo(delayMs = 0): RepositoryModel {
  const dims = [-1];
  return identity({
    inputs: [{ name: 'x', dims }],
    outputs: [{ name: 'y', dims }],
    delayMs,
    batching: false,
  });
}

/** The same for up to 10,000 requests of a run, which takes `delayMs`. */
export function echoTogether(delayMs: number): RepositoryModel {
  const dims = [-1];
  const tensors = { inputs: [{ name: 'x', dims }], outputs: [{ name: 'y', dims }] };
  return identity({ ...tensors, delayMs, maxBatchSize: 10_000 });
}

/** Two inputs of any length, of which the outputs are copies. */
export function pair(): RepositoryModel {
  const dims = [-1];
  return identity({
    inputs: [
      { name: 'a', dims },
      { name: 'b', dims },
    ],
    outputs: [
      { name: 'a_out', dims },
      { name: 'b_out', dims },
    ],
    batching: false,
  });
}

/** Elements of a small tensor, which goes to a slab, and of a large one, which goes to a block of its own. */
export const sizes = { small: 16, large: 150_000 } as const;

/** Runs a program of `children/` on a repository of `echo` and whatever else it needs. */
export async function runMemory(
  context: Context,
  program: string,
  args: readonly string[],
  models: Readonly<Record<string, RepositoryModel>> = { echo: echo() },
  options?: ChildOptions,
): Promise<ChildOutcome> {
  const repository = await writeRepository(await temporaryFolder(context), models);
  return runChild(new URL(`children/${program}.js`, import.meta.url), [repository, ...args], options);
}
