/** How an endpoint over HTTP tells of errors. */

import type { TritonError } from '../../errors.js';
import { httpStatus } from '../../protocol/statuses.js';

/** See the head of this file. */
export interface ErrorForm {
  /** The status of an error. */
  status(error: TritonError): number;
  /**
   * The body of an answer.
   *
   * @param error - Undefined for a request that is not a call, or is not allowed.
   */
  text(message: string, status: number, error?: TritonError): string;
}

/** Triton's form. */
export const tritonErrors: ErrorForm = {
  status: httpStatus,
  text: (message) => JSON.stringify({ error: message }),
};
