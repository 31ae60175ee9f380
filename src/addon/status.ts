/** Turns the engine's statuses into errors. */

import {
  TritonError,
  type TritonErrorCode,
  type TritonErrorOptions,
  type TritonErrorReason,
} from '../errors.js';
import type { NativeStatus } from './native/status.js';

/** Codes by their numbers in `native/engine/base/status.h`; 0 is success. */
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

/**
 * Reasons by their numbers in `native/engine/base/status.h`; 0 is no reason. The engine passes on reasons that
 * it does not know itself.
 */
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

/** Code and reason combined into the number that the engine takes. */
export function statusNumber(code: TritonErrorCode, reason: TritonErrorReason | undefined): number {
  // UNKNOWN is at both 0 and 1; its number is 1.
  return codes.indexOf(code, 1) | (reason === undefined ? 0 : reasons.indexOf(reason) << 8);
}

/**
 * Separates an error message from the model's stack, so that the stack travels with the error to any thread.
 * The number in it is the length of the model's own text at the end of the message. A message may contain NUL,
 * but is very unlikely to contain this whole sequence. `python/tritonts_stub/errors.py` writes and reads the
 * same form.
 */
const originMark = /\0\u0001(\d+)\u0001\0/;

/**
 * Makes a message for the engine that carries the error's stack. `message` must end with the model's own
 * message.
 */
export function withOrigin(message: string, own: string, stack: string): string {
  return `${message}\0\u0001${own.length}\u0001\0${stack}`;
}

/**
 * Makes an error from a code, with its reason in the second byte, and a message of the engine. If a model threw
 * the error, `cause` has the model's own message and stack.
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

/** Makes an error from a status of the engine. */
export function statusError(status: NativeStatus, options?: TritonErrorOptions): TritonError {
  return nativeError(status.code, status.message, options);
}
