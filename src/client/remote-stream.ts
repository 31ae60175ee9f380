/** The responses to a request of another process, on their way to whoever reads them. */

import { StreamIterator } from '../server/requests/stream-iterator.js';
import type { InferResult } from '../api/results.js';
import type { AnswerSink, AnswerStream, WireAnswer } from './protocol.js';
import type { RemoteResult } from './types.js';

/** Beyond so many bytes that nobody has read no more are taken from the connection. The reader is told of at half of them. */
const mostUnread = 1 << 20;

/** See the head of this file. It is what its iterator tells when responses were read, and when nobody reads any more. */
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

  /** What cancels the request of a model with one response. */
  get signal(): AbortSignal {
    const left = this.#left.signal;
    return this.#signal === undefined ? left : AbortSignal.any([this.#signal, left]);
  }

  /** The one response of an ordinary model. */
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
   * Those of a decoupled model.
   *
   * @param open - Sends the request, unless nobody reads any more.
   * @param read - Makes results of answers.
   * @param failed - Is told what went wrong.
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

  /** The iterator says that the first response has come. */
  begin(): void {
    // Only the engine of the own process has to know.
  }

  /** The iterator says how much was read. */
  read(_responses: number, bytes: number): void {
    this.#unread -= bytes;
    this.#setFlow();
  }

  /** The iterator says that nobody reads any more, or that it has ended. */
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

/** It has no timings, which the iterator does not look at; callers get a RemoteResult. */
function asResult(result: RemoteResult): InferResult {
  return result as InferResult;
}
