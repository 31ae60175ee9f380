/** Converts errors that models throw to a form that can be cloned to another thread, and back. */

import { withOrigin } from '../../addon/status.js';
import { TritonError, type TritonErrorCode, type TritonErrorReason } from '../../errors.js';
import { absentPackage } from '../threads/app-packages.js';

/** See the head of this file. */
export interface Failure {
  readonly code: TritonErrorCode;
  readonly reason?: TritonErrorReason | undefined;
  readonly message: string;
  /** The message and stack of the model's own error. */
  readonly origin?: { readonly message: string; readonly stack: string } | undefined;
}

/** The longest message here. The engine cuts messages beyond 16 KiB, stack included. */
const longestText = 4096;

/** Converts any value to text. It never throws. */
export function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'an unreadable value';
  }
}

/**
 * Converts an error of a model. A TritonError keeps its code and reason. A missing package gets the reason MISSING.
 */
export function failureOf(model: string, thrown: unknown): Failure {
  let code: TritonErrorCode = 'INTERNAL';
  let reason: TritonErrorReason | undefined;
  let text: string;
  let stack: unknown;
  try {
    if (thrown instanceof TritonError) ({ code, reason } = thrown);
    text = thrown instanceof Error ? textOf(thrown.message) : `threw ${String(thrown)}`;
    stack = thrown instanceof Error ? thrown.stack : undefined;
    const absent = absentPackage(thrown);
    if (absent !== undefined) [code, reason, text] = ['UNAVAILABLE', 'MISSING', absent];
  } catch {
    text = 'threw an unreadable value';
  }
  text = cut(text);
  const message = text.startsWith(`model '${model}'`) ? text : `model '${model}': ${text}`;
  return {
    code,
    reason,
    message,
    origin: typeof stack === 'string' ? { message: text, stack: cut(stack) } : undefined,
  };
}

function cut(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText)}…` : text;
}

/** The error of a failure. The error's cause has the stack of the model's thread. */
export function errorOf({ code, reason, message, origin }: Failure, model: string): TritonError {
  if (origin === undefined) return new TritonError(code, message, { model, reason });
  const cause = new Error(origin.message);
  cause.stack = origin.stack;
  return new TritonError(code, message, { model, reason, cause });
}

/**
 * A failure as a message for the engine. The environment that receives it makes the same error as {@link errorOf}.
 */
export function engineMessage({ message, origin }: Failure): string {
  return origin === undefined ? message : withOrigin(message, origin.message, origin.stack);
}
