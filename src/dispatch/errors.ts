/** The errors that a dispatcher makes itself, and the callers' lines in them. */

import { TritonError } from '../errors.js';
import { reasonOf } from './signals.js';
import type { EntryPoint } from './types.js';

/** Marks errors that mean "too much in flight": the same request may succeed when others have ended. */
const limited = new WeakSet<object>();

/** Whether `error` says that `maxInFlightBytes` is reached. */
export function isLimit(error: unknown): boolean {
  return typeof error === 'object' && error !== null && limited.has(error);
}

export function limitError(message: string, model: string): TritonError {
  const error = new TritonError('UNAVAILABLE', message, { model });
  limited.add(error);
  return error;
}

export function noMemory(bytes: number, cause?: unknown): TritonError {
  return new TritonError('UNAVAILABLE', `no memory for ${bytes} bytes`, { cause });
}

/** @throws {TritonError} UNAVAILABLE without memory. */
export function allocate(bytes: number): ArrayBuffer {
  try {
    return new ArrayBuffer(bytes);
  } catch (error) {
    throw noMemory(bytes, error);
  }
}

/** Why a response cannot be handed to its caller. */
export function unusable(error: unknown, model: string): TritonError {
  const coded = error instanceof TritonError ? error.code : 'INTERNAL';
  const reason = error instanceof Error ? error.message : String(error);
  return new TritonError(coded, `model '${model}': its outputs cannot be used: ${reason}`, {
    model,
    cause: error,
  });
}

/** Of a request that its signal cancelled, or else whoever it belonged to. */
export function cancelled(model: string, signal?: AbortSignal): TritonError {
  const by = signal ? ' by its signal' : '';
  return new TritonError('CANCELLED', `model '${model}': the request was cancelled${by}`, {
    model,
    cause: signal && reasonOf(signal),
  });
}

/** What `make` returns, made without a stack: the frames would be ours, and cost more than all the rest. */
export function withoutStack<T>(make: () => T): T {
  const { stackTraceLimit } = Error;
  // With frozen intrinsics it cannot be set, and then the stack is made.
  const set = Reflect.set(Error, 'stackTraceLimit', 0);
  try {
    return make();
  } finally {
    if (set) Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The stack frames of whoever called `entry`, one a line. */
export function framesBelow(entry: EntryPoint): string {
  const holder: { stack?: unknown } = {};
  Error.captureStackTrace(holder, entry);
  const { stack } = holder;
  // With an Error.prepareStackTrace of the program's own it may be anything.
  if (typeof stack !== 'string') return '';
  return stack.slice(stack.indexOf('\n') + 1);
}

/** Lets the error show where its request was made, if that is known. */
export function withFrames(error: TritonError, frames: string | undefined): TritonError {
  if (frames !== undefined) error.stack = `${error.name}: ${error.message}\n${frames}`;
  return error;
}
