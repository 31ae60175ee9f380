/** Statuses of the engine, turned into errors. */

import {
  TritonError,
  type TritonErrorCode,
  type TritonErrorOptions,
  type TritonErrorReason,
} from '../errors.js';
import type { NativeStatus } from './native/status.js';

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

/** Reasons by the numbers of `native/engine/base/status.h`; 0 is none. The engine passes on those that it does not know. */
const reasons: readonly (TritonErrorReason | undefined)[] = [
  undefined,
  'QUEUE_FULL',
  'TIMED_OUT',
  'CLOSED',
  'NOT_READY',
  'TOO_MUCH_IN_FLIGHT',
  'NO_MEMORY',
  'MISSING',
  'INSTANCE_ENDED',
  'UNREAD',
  'CIRCULAR_CALL',
  'DEVICE_LOST',
  'LOAD_FAILED',
  'NO_ADDON',
  'NO_CONNECTION',
  'NOT_ALLOWED',
  'SYSTEM_REFUSED',
];

/** Code and reason as the one number that the engine takes. */
export function statusNumber(code: TritonErrorCode, reason: TritonErrorReason | undefined): number {
  // The first code is there twice.
  return codes.indexOf(code, 1) | (reason === undefined ? 0 : reasons.indexOf(reason) << 8);
}

/**
 * Stands behind a message before the model's stack, so that the stack comes with the error to any thread. It has the number of
 * characters at the message's end that are the model's own. A message may have NUL in it, but hardly the whole of this.
 * `python/tritonts_stub/errors.py` writes and reads the same.
 */
const originMark = /\0\u0001(\d+)\u0001\0/;

/** A message for the engine that says where it comes from. It has to end with the model's own message. */
export function withOrigin(message: string, own: string, stack: string): string {
  return `${message}\0\u0001${own.length}\u0001\0${stack}`;
}

/**
 * The error for a code, with its reason in the second byte, and a message of the engine. If a JavaScript model has thrown, its `cause` has the model's
 * message and stack.
 */
export function nativeError(code: number, message: string, options?: TritonErrorOptions): TritonError {
  const name = codes[code & 0xff] ?? 'UNKNOWN';
  const reason = reasons[code >> 8];
  const mark = originMark.exec(message);
  if (mark === null) return new TritonError(name, message, { ...options, reason });
  const text = message.slice(0, mark.index);
  const cause = new Error(text.slice(Math.max(0, mark.index - Number(mark[1]))));
  cause.stack = message.slice(mark.index + mark[0].length);
  return new TritonError(name, text, { ...options, reason, cause });
}

/** The error for a status of the engine. */
export function statusError(status: NativeStatus, options?: TritonErrorOptions): TritonError {
  return nativeError(status.code, status.message, options);
}
