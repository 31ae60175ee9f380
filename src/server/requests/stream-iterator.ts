/**
 * The iterator behind `Model.stream`. It is written by hand, because an async generator costs half of the throughput.
 *
 *     responses of the engine -> results that nobody has read -> calls of next()
 *
 * The iterator tells the engine how much was read, some responses at a time. A model that waits for its reader then goes on.
 */

import type { StopSignal } from '../../call-signal.js';
import { cancelled } from '../../dispatch/errors/request-errors.js';
import type { StreamWaiter, ToldStream } from '../../dispatch/responses/streams.js';
import { TritonError } from '../../errors.js';
import { Queue } from '../../queue.js';
import type { InferResult } from '../../api/results.js';

type Next = IteratorResult<InferResult, undefined>;

/** A call of next() that is not answered yet. */
interface Reader {
  readonly resolve: (next: Next) => void;
  readonly reject: (error: unknown) => void;
}

/** The engine is told that responses were read after this number of them, or of their bytes. */
const toldResponses = 8;
const toldBytes = 256 << 10;

const done: Next = Object.freeze({ done: true, value: undefined });

/** See the head of this file. */
export class StreamIterator implements AsyncIterableIterator<InferResult>, StreamWaiter<InferResult> {
  readonly #model: string;
  #signal: StopSignal | undefined;
  #sent: ToldStream | undefined;
  #begun = false;
  readonly #results: Queue<InferResult> = new Queue();
  /** What each of these counts. */
  readonly #sizes: Queue<number> = new Queue();
  readonly #readers: Queue<Reader> = new Queue();
  /** What was read and the engine was not told of. */
  #untold = 0;
  #untoldBytes = 0;
  /** Whether no response comes any more. */
  #ended = false;
  /** What ended it. It comes after the results. */
  #failure: { readonly error: unknown } | undefined;

  constructor(model: string) {
    this.#model = model;
  }

  /** Called when the request was sent; `signal` is its signal. */
  sent(stream: ToldStream | undefined, signal: StopSignal | undefined): void {
    this.#sent = stream;
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Next> {
    if (this.#signal?.aborted === true) this.#abort(this.#signal);
    const result = this.#results.shift();
    if (result !== undefined) {
      this.#noteRead(this.#sizes.shift() ?? 0);
      return Promise.resolve({ done: false, value: result });
    }
    this.#tell();
    if (this.#failure !== undefined) {
      const { error } = this.#failure;
      this.#failure = undefined;
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- A caller's getter may throw anything.
      return Promise.reject(error);
    }
    if (this.#ended) return Promise.resolve(done);
    return new Promise((resolve, reject) => {
      this.#readers.push({ resolve, reject });
    });
  }

  return(): Promise<Next> {
    this.#leave();
    return Promise.resolve(done);
  }

  throw(error: unknown): Promise<Next> {
    this.#leave();
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- It is the caller's own.
    return Promise.reject(error);
  }

  moved(stream: ToldStream): void {
    this.#sent = stream;
  }

  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#sent?.begin();
  }

  push(result: InferResult, bytes: number): void {
    if (this.#ended) return;
    this.begin();
    const reader = this.#readers.shift();
    if (reader !== undefined) {
      this.#noteRead(bytes);
      reader.resolve({ done: false, value: result });
      return;
    }
    this.#results.push(result);
    this.#sizes.push(bytes);
  }

  end(): void {
    this.#ended = true;
    for (let reader = this.#readers.shift(); reader; reader = this.#readers.shift()) reader.resolve(done);
  }

  resolve(result: InferResult): void {
    this.push(result, 0);
    this.end();
  }

  reject(error: unknown): void {
    if (this.#ended) return;
    // As a request that is cancelled by its signal rejects at once, what was not read is dropped.
    const isOver =
      error instanceof TritonError && (error.code === 'CANCELLED' || error.reason === 'TIMED_OUT');
    if (this.#signal?.aborted === true && isOver) {
      this.#drop();
    }
    const reader = this.#readers.shift();
    if (reader === undefined) this.#failure = { error };
    else reader.reject(error);
    this.end();
    // If the engine's request goes on, as where a result cannot be made of its responses.
    this.#sent?.cancel();
  }

  /** The signal fired. */
  #abort(signal: StopSignal): void {
    if (this.#ended && (this.#failure !== undefined || this.#results.length === 0)) return;
    const error = cancelled(this.#model, signal);
    this.#leave();
    this.#failure = { error };
  }

  /** Nobody reads any more. */
  #leave(): void {
    this.#failure = undefined;
    this.#drop();
    if (this.#ended) return;
    this.end();
    this.#sent?.cancel();
  }

  #drop(): void {
    while (this.#results.shift() !== undefined) this.#noteRead(this.#sizes.shift() ?? 0);
    this.#tell();
  }

  #noteRead(bytes: number): void {
    this.#untold++;
    this.#untoldBytes += bytes;
    if (this.#untold >= toldResponses || this.#untoldBytes >= toldBytes) this.#tell();
  }

  #tell(): void {
    if (this.#untoldBytes > 0) this.#sent?.read(this.#untold, this.#untoldBytes);
    this.#untold = this.#untoldBytes = 0;
  }
}

/** An iterator that rejects. */
export function failedStream(error: unknown): StreamIterator {
  const iterator = new StreamIterator('');
  iterator.reject(error);
  return iterator;
}
