/** What may happen to a call besides the server's answer. */

import { isDeadline } from '../dispatch/ending/deadlines.js';
import { timedOut } from '../dispatch/errors/request-errors.js';
import { TritonError, unavailable } from '../errors.js';

/** There was no connection, or it broke: a call that only reads may be made again. */
export class Broken extends TritonError {
  constructor(message: string, options: ConstructorParameters<typeof TritonError>[2]) {
    super('UNAVAILABLE', message, { ...options, reason: 'NO_CONNECTION' });
  }
}

/** An AggregateError, of a host with several addresses, has no message. */
export function causeText(cause: Error): string {
  const { code }: { readonly code?: unknown } = cause as { code?: unknown };
  return cause.message === '' ? (typeof code === 'string' ? code : cause.name) : cause.message;
}

/** A call was cancelled by its signal. */
export function cancelled(signal: AbortSignal | undefined, model: string | undefined): TritonError {
  const passed = signal !== undefined && isDeadline(signal.reason);
  if (passed && model !== undefined) return timedOut(model);
  const about = model === undefined ? 'the call' : `model '${model}': the request`;
  return new TritonError('CANCELLED', `${about} was cancelled by options.signal`, {
    model,
    cause: signal?.reason,
  });
}

/** A call was cancelled because the connection was closed here. */
export function closedUnder(model: string | undefined): TritonError {
  return new TritonError('CANCELLED', 'the connection to the server was closed', { model });
}

/** A call was made after the connection was closed here. */
export function alreadyClosed(model: string | undefined): TritonError {
  return unavailable('CLOSED', 'the connection to the server is closed', { model });
}

/** A call took longer than `timeoutMs`. */
export function tooLate(origin: string, timeoutMs: number, model: string | undefined): TritonError {
  return unavailable('TIMED_OUT', `${origin} did not answer within ${timeoutMs} ms`, { model });
}

/** The server's answer to a request makes no sense. */
export function unreadable(model: string, why: string, cause?: unknown): TritonError {
  return new TritonError('INTERNAL', `model '${model}': the server's answer cannot be read: ${why}`, {
    model,
    ...(cause !== undefined && { cause }),
  });
}

/** An answer beyond the client's limit. `size`: its bytes, as far as they are known. */
export function answerTooLarge(
  origin: string,
  size: number,
  most: number,
  model: string | undefined,
): TritonError {
  const text = `the answer of ${origin} has ${size} bytes or more; this client takes ${most} (options.maxResponseBytes)`;
  return new TritonError('UNSUPPORTED', text, { model });
}
