/** The errors that an engine connection creates itself, and the callers' stack frames in them. */

import { nativeError } from '../../addon/status.js';
import { TritonError, unavailable } from '../../errors.js';
import { isDeadline } from '../ending/deadlines.js';
import { reasonOf, type StopSignal } from '../../call-signal.js';
import type { EntryPoint } from '../types.js';
import { thrownText } from '../../thrown-text.js';

/** If many requests fail together, this many errors have a stack. The stack is the same for all of them. */
export const withStack = 32;

/** Errors that mean "too much in flight": the same request may succeed after others have ended. */
const limited = new WeakSet<object>();

/** Whether `error` says that `maxInFlightBytes` was reached. */
export function isLimit(error: unknown): boolean {
  return typeof error === 'object' && error !== null && limited.has(error);
}

/** The error of a request that may be sent again after others have ended. `code` is the engine's. */
export function limitError(code: number, message: string, model: string): TritonError {
  const error = nativeError(code, message, { model });
  limited.add(error);
  return error;
}

export function noMemory(bytes: number, cause?: unknown): TritonError {
  return unavailable('NO_MEMORY', `no memory for ${bytes} bytes`, { cause });
}

/**
 * Allocates an array buffer.
 *
 * @throws {@link TritonError} UNAVAILABLE if there is no memory.
 */
export function allocate(bytes: number): ArrayBuffer {
  try {
    return new ArrayBuffer(bytes);
  } catch (error) {
    throw noMemory(bytes, error);
  }
}

/** The error for a response that cannot be turned into a result. */
export function unusable(error: unknown, model: string): TritonError {
  // It names the model and the output already.
  if (error instanceof TritonError && error.tensor !== undefined) return error;
  const coded = error instanceof TritonError ? error.code : 'INTERNAL';
  const reason = thrownText(error);
  return new TritonError(coded, `model '${model}': its outputs cannot be used: ${reason}`, {
    model,
    reason: error instanceof TritonError ? error.reason : undefined,
    cause: error,
  });
}

/** The error of a request whose `timeoutMs` has passed. */
export function timedOut(model: string): TritonError {
  return unavailable('TIMED_OUT', `model '${model}': timeoutMs has passed before the request was answered`, {
    model,
  });
}

/** The error of a cancelled request: by its signal, its `timeoutMs`, or its owner. */
export function cancelled(model: string, signal?: StopSignal): TritonError {
  if (signal !== undefined && isDeadline(reasonOf(signal))) return timedOut(model);
  const by = signal ? ' by its signal' : '';
  return new TritonError('CANCELLED', `model '${model}': the request was cancelled${by}`, {
    model,
    cause: signal && reasonOf(signal),
  });
}

/**
 * Calls `make` with stack traces switched off. The frames would be this library's, and collecting them would
 * dominate the cost.
 */
export function withoutStack<T>(make: () => T): T {
  const { stackTraceLimit } = Error;
  // With frozen intrinsics this cannot be set, and the stack is captured.
  const set = Reflect.set(Error, 'stackTraceLimit', 0);
  try {
    return make();
  } finally {
    if (set) Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The stack frames of the code that called `entry`, one per line. */
export function framesBelow(entry: EntryPoint): string {
  const holder: { stack?: unknown } = {};
  Error.captureStackTrace(holder, entry);
  const { stack } = holder;
  // A program's own Error.prepareStackTrace may return anything.
  if (typeof stack !== 'string') return '';
  return stack.slice(stack.indexOf('\n') + 1);
}

/** Appends the frames that made the request to an error's stack, if they are known. */
export function withFrames(error: TritonError, frames: string | undefined): TritonError {
  if (frames !== undefined) error.stack = `${error.name}: ${error.message}\n${frames}`;
  return error;
}
