/** Names the model in the errors of requests that arrive over a network, as errors of calls within the process do. */

import { TritonError } from '../../errors.js';

/** The longest name of a model in a message. */
const longestName = 256;

/**
 * A copy of an error of reading a request that names the request's model. Other errors are returned unchanged, and
 * so is one that names a model already.
 *
 * @param model - The model's name as the client sent it; empty if it was not read.
 */
export function namingModel(error: unknown, model: string): unknown {
  if (!(error instanceof TritonError) || error.model !== undefined || model === '') return error;
  const { code, message, reason, tensor, cause } = error;
  const mark = /^(input|output|tensor) '/.test(message) ? ',' : ':';
  const text = `model '${model.slice(0, longestName)}'${mark} ${message}`;
  return new TritonError(code, text, { reason, model, tensor, cause });
}
