/** Options of requests, checked. */

import { checkKeys, checkObject } from '../checks.js';
import type { DispatchRequest } from '../dispatch/types.js';
import { invalidArgument } from '../errors.js';
import type { InferOptions } from './results.js';

const inferKeys: readonly string[] = [
  'id',
  'outputs',
  'signal',
  'ownOutputs',
  'into',
] satisfies readonly (keyof InferOptions)[];

/** Options of requests, checked; which outputs are wanted is looked up for each request's version. */
export interface CheckedOptions {
  readonly request: DispatchRequest;
  readonly outputs: InferOptions['outputs'];
  readonly into: InferOptions['into'];
}

/** How long a request id may be, as in Triton's clients. */
const longestId = 4096;

/** Those of requests without any. */
export function noOptions(pinned: boolean): CheckedOptions {
  return { request: request('', undefined, false, pinned), outputs: undefined, into: undefined };
}

/**
 * What can be said of options whatever the version.
 *
 * @param none - What {@link noOptions} made for the model, to be shared by all requests without any.
 * @throws {TritonError} INVALID_ARG.
 */
export function checkInferOptions(
  model: string,
  options: InferOptions,
  none: CheckedOptions,
): CheckedOptions {
  checkObject(options, 'infer options');
  checkKeys(options, inferKeys, 'infer options');
  const { id = '', outputs, signal, ownOutputs = false, into } = options;
  const { pinned } = none.request;
  if (typeof (id as unknown) !== 'string' || id.length > longestId) {
    throw invalidArgument(
      `model '${model}': expected a string of at most ${longestId} characters for options.id`,
      { model },
    );
  }
  if (signal !== undefined && !((signal as unknown) instanceof AbortSignal)) {
    throw invalidArgument(`model '${model}': expected an AbortSignal for options.signal`, { model });
  }
  if (typeof (ownOutputs as unknown) !== 'boolean') {
    throw invalidArgument(`model '${model}': expected true or false for options.ownOutputs`, { model });
  }
  if (into !== undefined) {
    checkObject(into, 'infer options.into');
    return { request: request(id, signal, ownOutputs, pinned), outputs, into: { ...into } };
  }
  // Those without any share one object, which costs the least to tell.
  if (id === '' && outputs === undefined && signal === undefined && !ownOutputs) return none;
  return { request: request(id, signal, ownOutputs, pinned), outputs, into };
}

function request(
  id: string,
  signal: AbortSignal | undefined,
  ownOutputs: boolean,
  pinned: boolean,
): DispatchRequest {
  return { id, wanted: undefined, signal, owner: undefined, ownOutputs, into: undefined, pinned };
}
