/** Checks of the options of `loadModel` that servers of this and of other processes share. */

import { invalidArgument } from '../errors.js';
import type { LoadModelOptions } from './override.js';

/** The names of {@link LoadModelOptions}. */
export const loadOptionKeys = ['config', 'files', 'module', 'force'] as const;

/**
 * Whether the options ask for a load without a change.
 *
 * @throws {@link TritonError} INVALID_ARG for a wrong value.
 */
export function readForce({ force }: LoadModelOptions): boolean {
  const given: unknown = force ?? false;
  if (typeof given === 'boolean') return given;
  throw invalidArgument(`expected true or false for load options.force but received ${String(given)}`);
}
