/** Converts the library's results and errors to Triton's form and words. */

import { failedToPoll, TritonError } from '../../errors.js';
import type { ModelStatistics } from '../../api/metadata.js';

/** Triton's reply to a request for statistics. */
export interface ServiceStatistics {
  readonly model_stats: readonly Omit<ModelStatistics, 'fail_reasons' | 'refused' | 'reruns'>[];
}

/** Removes the fields that Triton's message does not have. */
export function tritonStatistics(all: readonly ModelStatistics[]): ServiceStatistics {
  return {
    model_stats: all.map(({ fail_reasons: _reasons, refused: _refused, reruns: _reruns, ...rest }) => rest),
  };
}

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
