/** The responses to a request to another process, on their way to the reader. */

import { StreamIterator } from '../server/requests/stream-iterator.js';
import type { InferResult } from '../api/results.js';
import type { AnswerSink, AnswerStream, WireAnswer } from './protocol.js';
import type { RemoteResult } from './types.js';

/** How many bytes may be unread before the connection is paused. It resumes at half of them. */
const mostUnread = 1 << 20;

/**
 * See the head of this file. The iterator notifies this object when responses were read, and when the reader
 * has left.
 */
export class RemoteStream {
  readonly iterator: StreamIterator;
  readonly #signal: AbortSignal | undefined;
  readonly #left: AbortController = new AbortController();
  #stream: AnswerStream | undefined;
  #unread = 0;
  #paused = false;

  constructor(model: string, signal: AbortSignal | undefined) {
    this.iterator = new StreamIterator(model);
    this.#signal = signal;
    this.iterator.sent(this, signal);
  }

  /** The signal that cancels the request of a model that is not decoupled. */
  get signal(): AbortSignal {
    const left = this.#left.signal;
    return this.#signal === undefined ? left : AbortSignal.any([this.#signal, left]);
  }

  /** Takes the one response of a model that is not decoupled. */
  answered(result: Promise<RemoteResult>): void {
    result.then(
      (one) => {
        this.iterator.resolve(asResult(one));
      },
      (error: unknown) => {
        this.iterator.reject(error);
      },
    );
  }

  /**
   * Takes the responses of a decoupled model.
   *
   * @param open - Sends the request. It is not called if the reader has already left.
   * @param read - Makes a result of an answer.
   * @param failed - Is called with the error of the request.
   */
  open(
    open: (sink: AnswerSink) => AnswerStream,
    read: (answer: WireAnswer) => RemoteResult,
    failed: (error: unknown) => void,
  ): void {
    if (this.#left.signal.aborted) return;
    this.#stream = open({
      answer: (answer, bytes) => {
        let result: RemoteResult;
        try {
          result = read(answer);
        } catch (error) {
          this.iterator.reject(error);
          return;
        }
        this.#unread += bytes;
        this.#setFlow();
        this.iterator.push(asResult(result), bytes);
      },
      end: () => {
        this.iterator.end();
      },
      fail: (error) => {
        failed(error);
        this.iterator.reject(error);
      },
    });
  }

  /** Called by the iterator when the first response has arrived. */
  begin(): void {
    // Only the engine of the same process needs to know this.
  }

  /** Called by the iterator with the number of bytes that were read. */
  read(_responses: number, bytes: number): void {
    this.#unread -= bytes;
    this.#setFlow();
  }

  /** Called by the iterator when the reader has left, or when the stream has ended. */
  cancel(): void {
    this.#left.abort();
    this.#stream?.cancel();
  }

  #setFlow(): void {
    const paused = this.#unread > (this.#paused ? mostUnread / 2 : mostUnread);
    if (paused === this.#paused) return;
    this.#paused = paused;
    this.#stream?.pause(paused);
  }
}

/** The result has no timings, which the iterator does not read; callers get a RemoteResult. */
function asResult(result: RemoteResult): InferResult {
  return result as InferResult;
}
