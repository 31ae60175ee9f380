/** Statuses of the engine, turned into errors. */

import { TritonError, type TritonErrorCode, type TritonErrorOptions } from '../errors.js';
import type { NativeStatus } from './native.js';

/** Codes by the numbers of `native/engine/base/status.h`; 0 is success. */
const codes: readonly TritonErrorCode[] = [
  'UNKNOWN',
  'UNKNOWN',
  'INTERNAL',
  'NOT_FOUND',
  'INVALID_ARG',
  'UNAVAILABLE',
  'UNSUPPORTED',
  'ALREADY_EXISTS',
  'CANCELLED',
];

/** The error for a code and message of the engine. */
export function nativeError(code: number, message: string, options?: TritonErrorOptions): TritonError {
  return new TritonError(codes[code] ?? 'UNKNOWN', message, options);
}

/** The error for a status of the engine. */
export function statusError(status: NativeStatus, options?: TritonErrorOptions): TritonError {
  return nativeError(status.code, status.message, options);
}
