/** What models throw, in a form that can be told to another thread. */

import { TritonError, type TritonErrorCode } from '../errors.js';

/** See the head of this file. */
export interface Failure {
  readonly code: TritonErrorCode;
  readonly message: string;
  readonly stack?: string | undefined;
}

/** What a model has thrown, or rejected with. A TritonError keeps its code. */
export function failureOf(model: string, thrown: unknown): Failure {
  const code = thrown instanceof TritonError ? thrown.code : 'INTERNAL';
  let text: string;
  let stack: string | undefined;
  try {
    text = thrown instanceof Error ? thrown.message : `threw ${String(thrown)}`;
    stack = thrown instanceof Error ? thrown.stack : undefined;
  } catch {
    text = 'threw something that cannot be read';
  }
  const named = text.startsWith(`model '${model}'`) ? text : `model '${model}': ${text}`;
  return { code, message: named, stack };
}

/** The error of a failure. Its cause has the stack of the model's thread. */
export function errorOf({ code, message, stack }: Failure, model: string): TritonError {
  const cause = new Error(message);
  if (stack !== undefined) cause.stack = stack;
  return new TritonError(code, message, { model, cause });
}
