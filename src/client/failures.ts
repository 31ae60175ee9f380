/** Failures of a call other than the server's own errors. */

import { isDeadline } from '../dispatch/ending/deadlines.js';
import { timedOut } from '../dispatch/errors/request-errors.js';
import { TritonError, unavailable } from '../errors.js';

/** There was no connection, or the connection broke. A read-only call may be retried. */
export class Broken extends TritonError {
  constructor(message: string, options: ConstructorParameters<typeof TritonError>[2]) {
    super('UNAVAILABLE', message, { ...options, reason: 'NO_CONNECTION' });
  }
}

/**
 * The text of an error, with a hint if the port may speak another protocol. The AggregateError of a host with several addresses
 * has no message.
 */
export function causeText(cause: Error): string {
  const { code }: { readonly code?: unknown } = cause as { code?: unknown };
  if (cause.message === '') return typeof code === 'string' ? code : cause.name;
  // OpenSSL's own text has several lines.
  // The second text is of OpenSSL 3.2 and newer, as Node 22.20 has it.
  if (/wrong version number|packet length too long/.test(cause.message))
    return 'the port does not speak TLS: its URL has http:// or grpc://';
  const hint = code === 'ERR_HTTP2_ERROR' && cause.message !== 'Protocol error' ? undefined : hints.get(code);
  return hint === undefined ? cause.message : `${cause.message} (${hint})`;
}

/** By the codes of Node's errors. */
const hints: ReadonlyMap<unknown, string> = new Map([
  ['HPE_INVALID_CONSTANT', 'is it a gRPC port? Its URL begins with grpc://'],
  ['ERR_HTTP2_ERROR', 'is it an HTTP port? Its URL begins with http://'],
]);

/** The error of a call that was cancelled by its signal. */
export function cancelled(signal: AbortSignal | undefined, model: string | undefined): TritonError {
  const passed = signal !== undefined && isDeadline(signal.reason);
  if (passed && model !== undefined) return timedOut(model);
  const about = model === undefined ? 'the call' : `model '${model}': the request`;
  return new TritonError('CANCELLED', `${about} was cancelled by options.signal`, {
    model,
    cause: signal?.reason,
  });
}

/** The error of a call that was cancelled because the client closed the connection. */
export function closedUnder(model: string | undefined): TritonError {
  return new TritonError('CANCELLED', 'the connection to the server was closed', { model });
}

/** The error of a call that was made after the client closed the connection. */
export function alreadyClosed(model: string | undefined): TritonError {
  return unavailable('CLOSED', 'the connection to the server is closed', { model });
}

/** The error of a call that took longer than `timeoutMs`. */
export function tooLate(origin: string, timeoutMs: number, model: string | undefined): TritonError {
  return unavailable('TIMED_OUT', `${origin} did not answer within ${timeoutMs} ms`, { model });
}

/** The error for an answer of the server that cannot be understood. */
export function unreadable(model: string, why: string, cause?: unknown): TritonError {
  return new TritonError('INTERNAL', `model '${model}': the server's answer cannot be read: ${why}`, {
    model,
    ...(cause !== undefined && { cause }),
  });
}

/** The error for an answer above the client's limit. `size`: its bytes, as far as they are known. */
export function answerTooLarge(
  origin: string,
  size: number,
  most: number,
  model: string | undefined,
): TritonError {
  const text = `the answer of ${origin} has ${size} bytes or more; the client's limit is ${most} (options.maxResponseBytes)`;
  return new TritonError('UNSUPPORTED', text, { model });
}
