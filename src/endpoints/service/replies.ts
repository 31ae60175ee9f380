/** Converts the library's results and errors to Triton's form and words. */

import { failedToPoll, TritonError } from '../../errors.js';

/** The error of a load, in Triton's words: NOT_FOUND for a missing model, INVALID_ARG for an invalid one. */
export function loadFailure(model: string, error: unknown): unknown {
  if (!(error instanceof TritonError)) return error;
  if (error.code === 'NOT_FOUND') {
    const text = `${failedToPoll(model)}: ${error.message}`;
    return new TritonError('NOT_FOUND', text, { model, cause: error });
  }
  // A repository agent refuses the model. What it says is in the log alone.
  if (error.message === failedToPoll(model)) return error;
  return new TritonError('INVALID_ARG', `load failed for model '${model}': ${error.message}`, {
    model,
    reason: error.reason,
    cause: error,
    location: error.location,
  });
}
