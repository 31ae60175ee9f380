/**
 * The streams of an instance: the responses to requests of a decoupled model.
 *
 *     iterator --next(), if there is room--> response --> engine --> caller
 *                        ^                                              |
 *                        '---- the engine lists who has read <----------'
 *
 * A stream is at most 16 responses ahead of its reader, and all streams take turns. Responses that an iterator
 * yields synchronously go to the engine together, and so do those that several iterators yield in one turn of the event
 * loop. They are sent before any of these iterators is asked for its next response.
 */

import { performance } from 'node:perf_hooks';
import type { NativeInstance } from '../../addon/native/instance.js';
import { Queue } from '../../queue.js';
import type { Batch, BatchRequest, Signals } from './batch.js';
import { failureOf, type Failure } from './failures.js';
import type { InstanceMemory } from '../threads/instance-memory.js';
import { itemOf, type OpenedIterator, type OpenedStream } from './iterators.js';
import type { ResultWriter } from '../results/results.js';
import { isThenable, silence } from '../results/settle-results.js';

/** How long a stream may yield responses before they are sent and the next stream has its turn, in milliseconds. */
const mostMs = 0.2;

/** A request whose responses come from an iterator. */
interface OutputStream {
  readonly batch: Batch;
  readonly request: BatchRequest;
  readonly iterator: OpenedIterator;
  /** How many responses it may yield before it has to ask the engine for room again. */
  room: number;
  /** Whether next() was called and its promise has not settled. */
  isPulling: boolean;
  isQueued: boolean;
}

/** The parts of an instance that its streams use. */
export interface StreamsContext {
  readonly model: string;
  readonly native: NativeInstance;
  readonly memory: InstanceMemory;
  readonly writer: ResultWriter;
  readonly signals: Signals;
  /** Called when the streams have work and the instance's loop is not running. */
  readonly wake: () => void;
  /** Called when a batch has ended. */
  readonly onEnd: (batch: Batch) => void;
}

/** See the head of this file. */
export class OutputStreams {
  readonly #context: StreamsContext;
  /** Streams that have not ended, by their request. */
  readonly #open: Map<BatchRequest, OutputStream> = new Map();
  readonly #batches: Map<number, Batch> = new Map();
  /** Streams that are ready to go on, in order. */
  readonly #queue: Queue<OutputStream> = new Queue();
  #pulling = 0;
  /** How many streams are asked for their next response when the written ones are sent. */
  #next = 0;
  /** Resolves when the written responses are sent; undefined: none waits. */
  #sent: Promise<void> | undefined;
  readonly #leaving: Set<Promise<unknown>> = new Set();

  constructor(context: StreamsContext) {
    this.#context = context;
  }

  /** Whether an iterator is awaited, so that the event loop must run. */
  get isAwaiting(): boolean {
    return this.#pulling > 0 || this.#next > 0 || this.#leaving.size > 0;
  }

  /** Iterators whose `return()` was called and has not settled. */
  get leaving(): readonly Promise<unknown>[] {
    return [...this.#leaving];
  }

  /** Opens the streams of a batch. */
  open(batch: Batch, streams: readonly OpenedStream[]): void {
    batch.open = streams.length;
    this.#batches.set(batch.slot, batch);
    for (const { position, iterator } of streams) {
      const request = batch.requests[position];
      if (request === undefined) continue;
      const stream = { batch, request, iterator, room: 0, isPulling: false, isQueued: false };
      this.#open.set(request, stream);
      request.onCancel = () => {
        this.#leave(stream);
      };
      this.#enqueue(stream);
    }
    // Requests without a stream have had their responses.
    for (const request of batch.requests) if (!this.#open.has(request)) request.end();
  }

  /** Queues the streams whose callers have read responses. */
  listen(): void {
    const { native, memory, writer } = this.#context;
    // The memory of results is written to.
    writer.words.flush();
    const count = native.readers();
    if (count < 0) {
      for (const stream of this.#open.values()) this.#enqueue(stream);
      return;
    }
    const { words } = memory;
    for (let i = 0; i < count; i++) {
      // The request may have ended meanwhile, and its slot may hold another batch.
      const request = this.#batches.get(words[2 * i] ?? 0)?.requests[words[2 * i + 1] ?? 0];
      const stream = request && this.#open.get(request);
      if (stream !== undefined) this.#enqueue(stream);
    }
  }

  /** Gives the next stream its turn. Returns false if no stream is ready. */
  step(): boolean {
    if (this.#open.size > 0 && this.#queue.length === 0) this.listen();
    const stream = this.#queue.shift();
    if (stream === undefined) return false;
    stream.isQueued = false;
    if (!stream.isPulling && this.#isOpen(stream)) this.#advance(stream);
    return true;
  }

  /** Ends all streams, because the instance ends. */
  close(): void {
    for (const stream of this.#open.values()) this.#leave(stream);
  }

  #isOpen({ request }: OutputStream): boolean {
    return this.#open.has(request);
  }

  #enqueue(stream: OutputStream): void {
    if (stream.isQueued) return;
    stream.isQueued = true;
    this.#queue.push(stream);
  }

  #advance(stream: OutputStream): void {
    stream.room = this.#context.native.room(stream.batch.slot, stream.request.position);
    if (stream.room < 0) this.#leave(stream);
    else if (stream.room > 0 && stream.iterator.isAsync) this.#pull(stream);
    else if (stream.room > 0) this.#pullMany(stream);
  }

  /** Takes the responses that an iterator yields synchronously. */
  #pullMany(stream: OutputStream): void {
    const { words } = this.#context.writer;
    const end = performance.now() + mostMs;
    words.begin(stream.batch);
    while (stream.room > 0) {
      let given: unknown;
      try {
        given = stream.iterator.next();
      } catch (error) {
        this.#end(stream, failureOf(this.#context.model, error));
        return;
      }
      if (!this.#writeItem(stream, given)) return;
      if (stream.isPulling || performance.now() > end) break;
    }
    words.send(stream.batch, false);
    if (!stream.isPulling) this.#enqueue(stream);
  }

  /** Asks an asynchronous iterator for its next response. */
  #pull(stream: OutputStream): void {
    this.#await(stream, () => stream.iterator.next());
  }

  /** Awaits the result of an iterator's next(). */
  #await(stream: OutputStream, ask: () => unknown): void {
    const { model, signals, writer } = this.#context;
    const settled = (): boolean => {
      stream.isPulling = false;
      this.#pulling--;
      return this.#isOpen(stream);
    };
    const failed = (error: unknown): void => {
      if (!settled()) return;
      writer.words.begin(stream.batch);
      this.#end(stream, failureOf(model, error));
    };
    stream.isPulling = true;
    this.#pulling++;
    signals.watch(stream.request);
    let asked: Promise<unknown>;
    try {
      asked = Promise.resolve(ask());
    } catch (error) {
      failed(error);
      return;
    }
    asked.then((given) => {
      if (!settled()) return;
      writer.words.begin(stream.batch);
      if (!this.#writeItem(stream, given)) return;
      // The only stream need not wait for others.
      const isAlone = this.#pulling === 0 && this.#next === 0;
      const sent = isAlone ? undefined : this.#sendSoon(stream.batch);
      if (sent === undefined) writer.words.send(stream.batch, false);
      if (stream.isPulling) return;
      if (stream.room > 0 && stream.iterator.isAsync) {
        if (sent === undefined) this.#pull(stream);
        else this.#pullAfter(sent, stream);
      } else {
        this.#enqueue(stream);
        this.#context.wake();
      }
    }, failed);
  }

  /**
   * Sends the written responses of a batch when streams that settle together with this one have added theirs.
   *
   * These are next in the queue of promise jobs. Not at the end of the turn, because a generator of another request may compute
   * until then.
   */
  #sendSoon(batch: Batch): Promise<void> {
    this.#context.writer.words.sendLater(batch);
    this.#sent ??= Promise.resolve()
      .then(() => undefined)
      .then(() => {
        this.#sent = undefined;
        this.#context.writer.words.flush();
      });
    return this.#sent;
  }

  /** Asks a stream for its next response when the written ones are sent. Keeps the asynchronous context of its generator. */
  #pullAfter(sent: Promise<void>, stream: OutputStream): void {
    stream.isQueued = true;
    this.#next++;
    void sent.then(() => {
      this.#next--;
      stream.isQueued = false;
      if (!stream.isPulling && this.#isOpen(stream)) this.#pull(stream);
    });
  }

  /** Writes a response, or begins to await it. Returns false if the stream has ended. */
  #writeItem(stream: OutputStream, given: unknown): boolean {
    const { writer, model } = this.#context;
    const { batch, request } = stream;
    let refused: unknown;
    try {
      const { done, value } = itemOf(given);
      refused = value;
      if (done) {
        this.#end(stream, undefined, value);
        return false;
      }
      if (value instanceof Error) {
        this.#end(stream, failureOf(model, value));
        this.#return(stream);
        return false;
      }
      if (isThenable(value)) {
        // The resolved value is the response. next() is not called again before that.
        this.#await(stream, async () => ({ done: false, value: await value }));
        return true;
      }
      stream.room = writer.giveNext(batch, request.position, value) ? 0 : stream.room - 1;
      return true;
    } catch (error) {
      silence(refused);
      this.#end(stream, writer.faultOf(error));
      this.#return(stream);
      return false;
    }
  }

  /**
   * Ends a stream, after the responses written so far.
   *
   * @param value - What its generator returned.
   */
  #end({ batch, request }: OutputStream, failed: Failure | undefined, value?: unknown): void {
    const { writer, onEnd } = this.#context;
    let failure = failed;
    let runsAgain = false;
    this.#open.delete(request);
    request.end();
    batch.open--;
    const last = batch.open === 0;
    try {
      runsAgain = failure === undefined && writer.giveAgain(batch, request.position, value);
    } catch (error) {
      failure = writer.faultOf(error);
    }
    if (failure !== undefined) writer.words.putFailure(batch, request.position, failure);
    else if (!runsAgain) writer.words.putEnd(batch, request.position);
    if (!last) {
      void this.#sendSoon(batch);
      return;
    }
    writer.words.send(batch, true);
    this.#batches.delete(batch.slot);
    onEnd(batch);
  }

  /** Ends a stream whose responses are no longer read. */
  #leave(stream: OutputStream): void {
    if (!this.#isOpen(stream)) return;
    const { model, writer } = this.#context;
    stream.request.abort();
    stream.request.abortCalls();
    writer.words.begin(stream.batch);
    this.#end(stream, { code: 'CANCELLED', message: `model '${model}': the request was cancelled` });
    this.#return(stream);
  }

  /** Calls an iterator's `return()`. An error there is only a warning. */
  #return({ iterator }: OutputStream): void {
    const { model } = this.#context;
    const warn = (error: unknown): void => {
      const { message } = failureOf(model, error);
      process.emitWarning(`${message} (thrown by return() of an abandoned stream)`);
    };
    try {
      const left = iterator.leave();
      // Promises of other realms are no instances of this realm's Promise.
      if (!isThenable(left)) return;
      const leaving: Promise<unknown> = Promise.resolve(left)
        .catch(warn)
        .finally(() => this.#leaving.delete(leaving));
      this.#leaving.add(leaving);
    } catch (error) {
      warn(error);
    }
  }
}
