/** Models for tensors of any size, and helpers of the memory tests. */

import { anyLength, identity, type Context } from '../support/harness.js';
import type { RepositoryModel } from '../support/repository.js';
import { temporaryFolder, writeRepository } from '../support/repository.js';
import { runChild, type ChildOptions, type ChildOutcome } from '../support/child.js';

/** y = x for FP32 [N, any]; each request runs alone. */
export function echo(delayMs = 0): RepositoryModel {
  return identity({ ...anyLength, delayMs, batching: false });
}

/** A model with two inputs of any length, which its outputs copy. */
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

/** Number of elements: a small tensor goes to a slab, and a large one to a block of its own. */
export const sizes = { small: 16, large: 150_000 } as const;

/** Runs a program of `children/` on a repository with `echo` and the given models. */
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
