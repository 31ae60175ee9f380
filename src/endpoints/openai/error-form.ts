/** How the front end for OpenAI's clients tells of errors. */

import { TritonError, type TritonErrorCode } from '../../errors.js';
import { httpStatus } from '../../protocol/statuses.js';
import { isTooLarge } from '../http/body.js';
import type { ErrorForm } from '../http/error-form.js';

/** Codes of errors that are not the client's fault. */
const faults: readonly TritonErrorCode[] = ['INTERNAL', 'UNKNOWN', 'CANCELLED'];

/** Errors of bodies whose fields are unknown or wrong. */
const ofFields: WeakSet<TritonError> = new WeakSet();

/**
 * Runs a function that reads a body. Its INVALID_ARG is answered with 422.
 *
 * @throws {@link TritonError} What the function throws.
 */
export function readingFields<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof TritonError && error.code === 'INVALID_ARG') ofFields.add(error);
    throw error;
  }
}

function statusOf(error: TritonError): number {
  if (isTooLarge(error)) return 413;
  if (ofFields.has(error)) return 422;
  // Clients try again after 429 and 503.
  if (error.code === 'UNAVAILABLE') return error.reason === 'NOT_ALLOWED' ? 400 : httpStatus(error);
  return faults.includes(error.code) ? 500 : 400;
}

function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

/** An error as OpenAI's clients show it. */
export function errorObject(message: string, status: number, error: TritonError | undefined): object {
  return { message, type: typeOf(status), param: null, code: error?.code ?? null };
}

/** The form: Triton's `detail`, and OpenAI's `error`. */
export const openAIErrors: ErrorForm = {
  status: statusOf,
  text(message, status, error) {
    if (status !== 401)
      return JSON.stringify({ detail: message, error: errorObject(message, status, error) });
    return JSON.stringify({ error: { message, type: 'authentication_error', code: 'invalid_auth' } });
  },
};
