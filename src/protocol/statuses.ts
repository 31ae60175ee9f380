/** Maps error codes to statuses of HTTP and gRPC. */

import { TritonError, type TritonErrorCode, type TritonErrorReason } from '../errors.js';

/** Triton's HTTP statuses. */
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

/** Triton's gRPC status codes. */
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

/** More precise HTTP statuses than 503 for some reasons of UNAVAILABLE. Triton's clients treat all three alike. */
const httpStatusesByReason: Readonly<Partial<Record<TritonErrorReason, number>>> = {
  QUEUE_FULL: 429,
  TOO_MUCH_IN_FLIGHT: 429,
  TIMED_OUT: 504,
};

/** The name of the header (HTTP) or metadata (gRPC) with an error's reason. */
export const reasonHeader = 'tritonts-reason';

/** Parameters with an error's code and reason in gRPC streams, whose messages have only a text for errors. */
export const streamCodeName = 'tritonts_code';
export const streamReasonName = 'tritonts_reason';

/** The HTTP status of an error. */
export function httpStatus({ code, reason }: TritonError): number {
  const better = code === 'UNAVAILABLE' && reason !== undefined ? httpStatusesByReason[reason] : undefined;
  return better ?? httpStatuses[code];
}

/** The gRPC status code of a code. */
export function grpcStatus(code: TritonErrorCode): number {
  return grpcStatuses[code];
}

/** Converts a thrown value to a TritonError. Other errors are faults of this package, and become INTERNAL. */
export function asTritonError(error: unknown): TritonError {
  return TritonError.from(error);
}
