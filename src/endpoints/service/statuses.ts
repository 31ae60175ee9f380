/** The one place where an error's code becomes a status of a protocol. */

import { TritonError, type TritonErrorCode } from '../../errors.js';

/** HTTP statuses, as Triton's. */
const httpStatuses: Readonly<Record<TritonErrorCode, number>> = {
  UNKNOWN: 400,
  INTERNAL: 500,
  NOT_FOUND: 404,
  INVALID_ARG: 400,
  UNAVAILABLE: 503,
  UNSUPPORTED: 501,
  ALREADY_EXISTS: 400,
  CANCELLED: 400,
};

/** gRPC status codes, as Triton's. */
const grpcStatuses: Readonly<Record<TritonErrorCode, number>> = {
  UNKNOWN: 2,
  INTERNAL: 13,
  NOT_FOUND: 5,
  INVALID_ARG: 3,
  UNAVAILABLE: 14,
  UNSUPPORTED: 12,
  ALREADY_EXISTS: 6,
  CANCELLED: 1,
};

/** The HTTP status of a code. */
export function httpStatus(code: TritonErrorCode): number {
  return httpStatuses[code];
}

/** The gRPC status code of a code. */
export function grpcStatus(code: TritonErrorCode): number {
  return grpcStatuses[code];
}

/** What was thrown, as a TritonError: anything else is a fault of this package, INTERNAL. */
export function asTritonError(error: unknown): TritonError {
  if (error instanceof TritonError) return error;
  return new TritonError('INTERNAL', error instanceof Error ? error.message : String(error), {
    cause: error,
  });
}
