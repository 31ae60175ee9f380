/** Converts errors that models throw to a form that can be cloned to another thread, and back. */

import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
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

/** The part of a load that failed, and the model's file. */
export interface FailedStep {
  readonly step: string;
  /** Undefined if the program gave the code. */
  readonly url: string | undefined;
}

/** The place in the model's file that an error came from, in brackets; '' if it is unknown. */
function placeIn(url: string | undefined, thrown: Error): string {
  if (url === undefined) return '';
  const at = (thrown.stack ?? '').indexOf(`${url}:`);
  const line = at < 0 ? undefined : /^\d+/.exec((thrown.stack ?? '').slice(at + url.length + 1))?.[0];
  return line === undefined ? '' : ` (${basename(fileURLToPath(url))}:${line})`;
}

/**
 * Converts an error of a model. A TritonError keeps its code and reason. A missing package gets the reason MISSING.
 *
 * @param failed - Where the model was being loaded. It is told of errors that do not explain themselves.
 */
export function failureOf(model: string, thrown: unknown, failed?: FailedStep): Failure {
  let code: TritonErrorCode = 'INTERNAL';
  let reason: TritonErrorReason | undefined;
  let text: string;
  /** The text of the error itself. */
  let own: string;
  let stack: unknown;
  try {
    if (thrown instanceof TritonError) ({ code, reason } = thrown);
    text = thrown instanceof Error ? textOf(thrown.message) : `it threw ${textShown(thrown)}`;
    stack = thrown instanceof Error ? thrown.stack : undefined;
    own = text;
    const explains = thrown instanceof TritonError || thrown instanceof SyntaxError;
    if (failed && !explains)
      text = `${failed.step} failed: ${text}${thrown instanceof Error ? placeIn(failed.url, thrown) : ''}`;
    const absent = absentPackage(thrown);
    if (absent !== undefined) [code, reason, text, own] = ['UNAVAILABLE', 'MISSING', absent, absent];
  } catch {
    text = 'it threw an unreadable value';
    own = text;
  }
  text = cut(text);
  const message = text.startsWith(`model '${model}'`) ? text : `model '${model}': ${text}`;
  return {
    code,
    reason,
    message,
    origin: typeof stack === 'string' ? { message: cut(own), stack: cut(stack) } : undefined,
  };
}

function textShown(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
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
