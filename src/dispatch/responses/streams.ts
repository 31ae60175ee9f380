/**
 * Requests that get any number of responses: their waiters, and what the engine is told of reading and
 * cancelling.
 */

import type { NativePort } from '../../addon/native/port.js';
import type { Group } from '../requests/group.js';
import type { Waiter } from '../types.js';

/**
 * Waits for the responses to a request of a decoupled model. The last call is one of `end` or `reject`, once.
 * For a request of another model `resolve` is called instead. The functions do not throw.
 */
export interface StreamWaiter<T> extends Waiter<T> {
  /**
   * Called when the first response has arrived. Only a sender that calls {@link push} later calls this before
   * it.
   */
  begin(): void;
  /**
   * Takes a response.
   *
   * @param bytes - The bytes that the response counts until it is read; see {@link SentStream.read}.
   */
  push(result: T, bytes: number): void;
  /** Called when there are no more responses. */
  end(): void;
  /** Called when the request was sent again, before its first response. */
  moved(stream: ToldStream): void;
}

/** What is told of the reader of a stream: a request of this process, or of another one. */
export type ToldStream = Pick<SentStream, 'begin' | 'read' | 'cancel'>;

/** Whether a waiter accepts more than one response. */
export function isStreamWaiter<T>(waiter: Waiter<T>): waiter is StreamWaiter<T> {
  return 'push' in waiter;
}

/** Cancels single requests. */
export interface Canceller {
  /**
   * Cancels and rejects the request at a position of a group, if the group still has these waiters and the
   * request still waits.
   */
  cancelOne(group: Group, waiters: Group['waiters'], position: number): void;
}

/** A sent request whose responses are read one by one. */
export class SentStream {
  readonly #native: Pick<NativePort, 'read'>;
  readonly #canceller: Canceller;
  readonly #group: Group;
  readonly #waiters: Group['waiters'];
  readonly #position: number;
  /** The group's generation in this use; known when the first response arrives. */
  #generation = -1;

  constructor(native: Pick<NativePort, 'read'>, canceller: Canceller, group: Group, waiter: Waiter<unknown>) {
    this.#native = native;
    this.#canceller = canceller;
    this.#group = group;
    this.#waiters = group.waiters;
    this.#position = group.waiters.lastIndexOf(waiter);
  }

  /** Called when the first response arrives, before {@link read}. */
  begin(): void {
    this.#generation = this.#group.generation;
  }

  /** Tells the engine how many responses the caller has read, and how many bytes they counted. */
  read(responses: number, bytes: number): void {
    this.#native.read(this.#group.index, this.#generation, this.#position, responses, bytes);
  }

  /** Cancels the request, unless it has ended. Its waiter rejects. */
  cancel(): void {
    this.#canceller.cancelOne(this.#group, this.#waiters, this.#position);
  }
}
