/** The one place where an error's code becomes a status of a protocol. */

import { TritonError, type TritonErrorCode, type TritonErrorReason } from '../errors.js';

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

/** Where HTTP has a better word than 503 for what is UNAVAILABLE. Clients of Triton's take all three for that. */
const httpStatusesByReason: Readonly<Partial<Record<TritonErrorReason, number>>> = {
  QUEUE_FULL: 429,
  TOO_MUCH_IN_FLIGHT: 429,
  TIMED_OUT: 504,
};

/** The name of the header (HTTP) or of the metadata (gRPC) that carries an error's reason. */
export const reasonHeader = 'tritonts-reason';

/** The parameters that carry code and reason of an error in gRPC's streams, whose messages have but a text for it. */
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

/** What was thrown, as a TritonError: anything else is a fault of this package, INTERNAL. */
export function asTritonError(error: unknown): TritonError {
  return TritonError.from(error);
}
