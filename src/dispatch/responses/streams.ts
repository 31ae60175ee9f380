/**
 * Requests that get any number of responses: who waits for them, and what is said of them to the engine besides.
 */

import type { NativePort } from '../../addon/native/port.js';
import type { Group } from '../requests/group.js';
import type { Waiter } from '../types.js';

/**
 * Waits for the responses to a request of a decoupled model. `end` or `reject` is called last, once; a request of another
 * model calls `resolve` instead. They do not throw.
 */
export interface StreamWaiter<T> extends Waiter<T> {
  /** The first response has come. Only who gives it to {@link push} later calls this before. */
  begin(): void;
  /**
   * Takes a response.
   *
   * @param bytes - What it counts until it is read; see {@link SentStream.read}.
   */
  push(result: T, bytes: number): void;
  /** There are no more responses. */
  end(): void;
  /** The request has been sent again, before its first response. */
  moved(stream: SentStream): void;
}

/** Whether a waiter takes more than one response. */
export function isStreamWaiter<T>(waiter: Waiter<T>): waiter is StreamWaiter<T> {
  return 'push' in waiter;
}

/** Cancels single requests. */
export interface Canceller {
  /** Cancels and rejects the request at a position of a group, if the group still has these waiters, and this one. */
  cancelOne(group: Group, waiters: Group['waiters'], position: number): void;
}

/** A request that was sent and whose responses are read one after the other. */
export class SentStream {
  readonly #native: Pick<NativePort, 'read'>;
  readonly #canceller: Canceller;
  readonly #group: Group;
  readonly #waiters: Group['waiters'];
  readonly #position: number;
  /** The group's, in this use; known when the first response comes. */
  #generation = -1;

  constructor(native: Pick<NativePort, 'read'>, canceller: Canceller, group: Group, waiter: Waiter<unknown>) {
    this.#native = native;
    this.#canceller = canceller;
    this.#group = group;
    this.#waiters = group.waiters;
    this.#position = group.waiters.lastIndexOf(waiter);
  }

  /** Called when the first response comes, before {@link read}. */
  begin(): void {
    this.#generation = this.#group.generation;
  }

  /** Tells the engine that the caller has read responses, and how many bytes these counted. */
  read(responses: number, bytes: number): void {
    this.#native.read(this.#group.index, this.#generation, this.#position, responses, bytes);
  }

  /** Cancels the request, unless it has ended. Its waiter rejects. */
  cancel(): void {
    this.#canceller.cancelOne(this.#group, this.#waiters, this.#position);
  }
}
