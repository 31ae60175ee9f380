/** Handles error responses, and responses that cannot be delivered to their callers. */

import { nativeError } from '../../addon/status.js';
import { TritonError, type TritonErrorCode, type TritonErrorReason } from '../../errors.js';
import type { Group } from '../requests/group.js';
import type { Owner } from '../owner.js';
import { cancelled, limitError, unusable, withFrames, withoutStack, withStack } from './request-errors.js';
import { isAborted } from '../../call-signal.js';

/** The error of a response. */
export interface Failure {
  /** The engine's numeric code, or the code of an error of this package. */
  readonly code: number | TritonErrorCode;
  /** The reason, if the code is not numeric. */
  readonly reason?: TritonErrorReason | undefined;
  readonly message: string;
  /** Whether the request was refused because too much is in flight. */
  readonly limited?: boolean;
}

/** Rejects the waiters of requests whose response is an error. */
export class FailedResponses {
  readonly #owner: Owner;
  /** Number of failures since {@link allRead}. */
  #failed = 0;

  constructor(owner: Owner) {
    this.#owner = owner;
  }

  /** Called when all responses have been read. The first errors of the next burst have stacks again. */
  allRead(): void {
    this.#failed = 0;
  }

  /** Rejects the waiters of requests `begin` to `end` of a group. */
  fail(group: Group, begin: number, end: number, { code, reason, message: text, limited }: Failure): void {
    const { target } = group;
    if (target === undefined) return;
    for (let at = begin; at < end; at++) {
      const waiter = this.#owner.settle(group, at);
      if (waiter === undefined) continue;
      const { id = '', signal } = group.requestOf(at) ?? {};
      const message = id === '' ? text : `[request id: ${id}] ${text}`;
      const make = (): TritonError => {
        // The request was cancelled, so its own outcome no longer matters.
        if (signal !== undefined && isAborted(signal)) return cancelled(target.name, signal);
        if (limited === true && typeof code === 'number') return limitError(code, message, target.name);
        return typeof code === 'number'
          ? nativeError(code, message, { model: target.name })
          : new TritonError(code, message, { model: target.name, reason });
      };
      const error = this.#failed++ < withStack ? make() : withoutStack(make);
      waiter.reject(withFrames(error, group.stacks?.[at]));
    }
  }
}

/**
 * The error for a response that is not delivered: the request was cancelled, or the response cannot be turned
 * into a result.
 */
export function whyNot(error: unknown, model: string): TritonError {
  return error instanceof TritonError && (error.code === 'CANCELLED' || error.reason === 'TIMED_OUT')
    ? error
    : unusable(error, model);
}
