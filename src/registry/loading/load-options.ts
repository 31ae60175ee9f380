/** The options of `loadModel`, and the checks that servers of this and of other processes share. */

import { expected } from '../../argument-checks.js';

/** The names of {@link LoadModelOptions}. */
export const loadOptionKeys = ['config', 'files', 'module', 'force', 'parent'] as const;

/**
 * Whether the options ask for a load without a change.
 *
 * @throws {@link TritonError} INVALID_ARG for a wrong value.
 */
export function readForce({ force }: { readonly force?: unknown }): boolean {
  const given = force ?? false;
  if (typeof given === 'boolean') return given;
  throw expected('true or false', 'load options.force', given);
}
