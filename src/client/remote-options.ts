/** Checks the options of requests to a remote model. */

import { abortSignalOf } from '../call-signal.js';
import type { InferOptions } from '../api/results.js';
import { readOptions } from '../argument-checks.js';
import { TritonError } from '../errors.js';
import {
  checkInferOptions,
  inferKeys,
  whyRefused,
  type CheckedOptions,
  type SharedOptions,
} from '../server/requests/infer-options.js';
import type { RemoteInferOptions } from './types.js';

/** Checked options with the options that they were made from. */
export interface RemoteOptions extends CheckedOptions {
  readonly given: RemoteInferOptions;
}

/**
 * Checks whatever does not depend on the model's description.
 *
 * @throws {@link TritonError} INVALID_ARG for unknown keys and wrong values, UNSUPPORTED for `parent`.
 */
export function checkRemoteOptions(model: string, options: unknown, shared: SharedOptions): RemoteOptions {
  // Each option is checked below.
  const given = readOptions<InferOptions>(options, inferKeys, 'infer options', whyRefused) as InferOptions;
  const { parent } = given;
  if (parent !== undefined) {
    const text = `model '${model}': options.parent is only for models of this process`;
    throw new TritonError('UNSUPPORTED', text, { model });
  }
  const checked = checkInferOptions(model, given, shared);
  // Copied, because a program may change its options while the request is in progress.
  const sequence = given.sequence && { ...given.sequence };
  const parameters = given.parameters && { ...given.parameters };
  const signal = checked.request.signal && abortSignalOf(checked.request.signal);
  return { ...checked, given: { ...given, sequence, parameters, signal } };
}
