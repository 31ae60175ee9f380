/** Statuses of calls. */

import type { TritonErrorReason } from '../../errors.js';
import { asTritonError, grpcStatus } from '../statuses.js';

/** Statuses that no TritonErrorCode maps to. https://grpc.io/docs/guides/status-codes/ */
export const status = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const;

/** An error with a gRPC status. */
export class RpcError extends Error {
  readonly status: number;

  constructor(code: number, message: string) {
    super(message);
    this.status = code;
  }
}

/** The status and text of a thrown value. */
export function statusOf(error: unknown): {
  readonly code: number;
  readonly message: string;
  readonly reason?: TritonErrorReason | undefined;
} {
  if (error instanceof RpcError) return { code: error.status, message: error.message };
  const { code, message, reason } = asTritonError(error);
  return { code: grpcStatus(code), message, reason };
}
