/** A call: an HTTP/2 stream that carries messages. A {@link RpcHandler} does the call's work. */

import type { Budget } from '../../protocol/grpc/budget.js';
import type { CallList, Listed } from './call-list.js';
import { compressionFor, type Compression, type Deflater, type Inflater } from './compression.js';
import { MessageReader, readTimeout } from '../../protocol/grpc/framing.js';
import { RpcError, status } from '../../protocol/grpc/status.js';
import { longestTimerMs } from '../../time-limit.js';
import type { CallHeaders } from './http2/request-headers.js';
import type { Stream, StreamUser } from './http2/stream.js';
import type { Answer } from './infer-response.js';
import { Outgoing } from './outgoing.js';
import { clearTimeout, setTimeout } from '../../timers.js';

/** Does the work of a call. */
export interface RpcHandler {
  /** Whether the call may wait for messages without a time limit. */
  readonly endless: boolean;
  /**
   * Takes a message. An error that it throws ends the call.
   *
   * @param bytes - Counted as held until the call ends, or {@link Rpc.release} releases them.
   */
  message(bytes: Buffer): void;
  /** Called when the client has sent everything. An error that it throws ends the call. */
  ended(): void;
  /** Called when the call ends unfinished: it was cancelled, timed out, or lost its connection. */
  gone(): void;
  /** Called when the endpoint closes: a call that may wait for messages ends (absent: nothing is to be done). */
  drain?(): void;
}

/** The error of calls that come when the endpoint closes, or wait for messages then. Triton's words. */
export function shuttingDown(): RpcError {
  return new RpcError(
    status.unavailable,
    'GRPC server is shutting down and has stopped accepting new requests',
  );
}

/** The state that all calls of an endpoint share. */
export interface RpcShared {
  readonly maxRequestBytes: number;
  readonly budget: Budget;
  readonly inflater: Inflater;
  readonly deflater: Deflater;
  /** Calls that have not ended, for {@link Rpc.checkProgress}. */
  readonly calls: CallList<Rpc>;
  /** A counter of ticks. A call without progress for {@link mostTicks} ticks has stopped. */
  tick: number;
}

/** Gets the events of a connection's calls. */
export interface Traffic {
  began(): void;
  ended(): void;
  received(): void;
  sent(): void;
}

/** How many ticks a message may take to arrive, and an answer to be read. */
export const mostTicks = 8;

/** A message that waits for the decompression of an earlier one. */
interface Waiting {
  readonly bytes: Buffer;
  readonly compressed: boolean;
}

/** See the head of this file. */
export class Rpc implements Listed, StreamUser {
  place = -1;
  readonly headers: CallHeaders;
  readonly #stream: Stream;
  readonly #shared: RpcShared;
  readonly traffic: Traffic;
  readonly #reader: MessageReader;
  readonly #outgoing: Outgoing;
  #handler: RpcHandler | undefined;
  #whenClosed: ((sent: boolean) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** From when on a client may end the call because of its deadline. */
  #dueAt = Infinity;
  /** Bytes of messages that count as held. */
  #held = 0;
  #waiting: Waiting[] | undefined;
  #received = false;
  #inputEnded = false;
  #finished = false;
  #closed = false;
  #paused = false;
  /** The tick of the call's last progress. */
  #since: number;

  constructor(stream: Stream, shared: RpcShared, traffic: Traffic) {
    this.#stream = stream;
    this.headers = stream.headers;
    this.#shared = shared;
    this.traffic = traffic;
    traffic.began();
    this.#reader = new MessageReader(shared.maxRequestBytes, shared.budget, this);
    this.#outgoing = new Outgoing(stream, shared.deflater, shared.budget);
    this.#since = shared.tick;
    shared.calls.add(this);
    stream.user = this;
  }

  /**
   * Passes messages to `handler`.
   *
   * @throws {@link RpcError} INTERNAL for a malformed deadline.
   */
  start(handler: RpcHandler): void {
    const timeout = this.headers['grpc-timeout'];
    if (timeout !== undefined) this.#startTimer(timeout);
    this.#handler = handler;
  }

  /** Whether the status was given, so that nothing more can be sent. */
  get finished(): boolean {
    return this.#finished;
  }

  /** Whether sent bytes wait in memory because the client does not read them. */
  get congested(): boolean {
    return this.#outgoing.congested;
  }

  /** Whether an answer is being sent, and the client has not read all of it. */
  get isSending(): boolean {
    return this.#finished || this.congested;
  }

  /** Calls `closed` once, when nothing more is sent or received, with whether all that was to be sent was sent. */
  whenClosed(closed: (sent: boolean) => void): void {
    this.#whenClosed = closed;
  }

  /** Calls `drained` once, when no bytes wait any more; never if the call ends before. */
  onDrain(drained: () => void): void {
    this.#outgoing.onDrain(() => {
      try {
        drained();
      } catch (error) {
        this.#end(error);
      }
    });
  }

  /** The compression of models' answers; undefined: none. */
  get compression(): Compression | undefined {
    const { level } = this.#shared.deflater;
    const accepted = this.headers['grpc-accept-encoding'];
    return level === 'none' || accepted === undefined ? undefined : compressionFor(level, accepted);
  }

  /** Stops reading messages, or resumes. */
  pause(paused: boolean): void {
    if (paused === this.#paused || (paused && this.#finished)) return;
    this.#paused = paused;
    this.#setFlow();
  }

  /** Releases bytes of a message that is no longer needed. */
  release(bytes: number): void {
    if (this.#closed) return;
    this.#held -= bytes;
    this.#shared.budget.release(bytes);
  }

  /** Sends a message. Others may follow. */
  send(answer: Answer, compression?: Compression): void {
    if (this.#finished) return;
    this.#since = this.#shared.tick;
    this.traffic.sent();
    this.#outgoing.send(answer, compression);
  }

  /** Sends the message, if there is one, and then the status OK. */
  finish(answer?: Answer, compression?: Compression): void {
    if (this.#finished) return;
    this.#finish();
    this.traffic.sent();
    this.#outgoing.end(answer, compression);
  }

  /** Ends the call with an error. */
  fail(error: unknown): void {
    if (this.#finished) return;
    this.#finish();
    // Tell a client that still sends to stop.
    this.#outgoing.fail(error, !this.#received);
  }

  /** Ends the call at once, without a status. */
  abort(): void {
    this.#outgoing.abort();
  }

  /** The endpoint closes. */
  drain(): void {
    if (!this.#finished) this.#handler?.drain?.();
  }

  /** Whether a part of a message has arrived. */
  get isReceiving(): boolean {
    return this.#reader.within || this.#isInflating();
  }

  /** Checks the call's progress. A call that has stopped for too long ends. */
  checkProgress(): void {
    const { tick } = this.#shared;
    const { isSending } = this;
    if (!isSending && !this.#isArriving()) {
      this.#since = tick;
      return;
    }
    if (tick - this.#since <= mostTicks) return;
    if (isSending) this.abort();
    else
      this.#end(
        new RpcError(status.deadlineExceeded, 'the request took too long to arrive (requestTimeoutMs)'),
      );
  }

  /** Whether the call waits for bytes of the client. While it is paused, it does not. */
  #isArriving(): boolean {
    if (this.#paused || this.#isInflating()) return false;
    if (this.#reader.within) return true;
    return !this.#received && this.#handler?.endless === false;
  }

  /** Called by {@link MessageReader} for each message. */
  message(bytes: Buffer, compressed: boolean): void {
    this.#held += bytes.length;
    this.#received = true;
    if (this.#finished) return;
    if (this.#waiting !== undefined) this.#waiting.push({ bytes, compressed });
    else this.#take(bytes, compressed);
  }

  #take(bytes: Buffer, compressed: boolean): void {
    if (!compressed) {
      this.#handler?.message(bytes);
      return;
    }
    const encoding = this.headers['grpc-encoding'];
    if (encoding === undefined || encoding === 'identity')
      throw new RpcError(
        status.internal,
        'a message is marked as compressed, but the call has no grpc-encoding',
      );
    this.#waiting = [];
    this.#setFlow();
    // During decompression the inflater counts these bytes.
    this.#held -= bytes.length;
    this.#shared.inflater.inflate(bytes, (error, plain) => {
      this.#inflated(error, plain);
    });
  }

  #inflated(error: Error | undefined, plain: Buffer): void {
    if (this.#closed) {
      this.#shared.budget.release(plain.length);
      return;
    }
    this.#held += plain.length;
    this.#since = this.#shared.tick;
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    if (this.#finished) return;
    try {
      if (error !== undefined) throw error;
      this.#handler?.message(plain);
      for (const [i, one] of waiting.entries()) {
        this.#take(one.bytes, one.compressed);
        if (!this.#isInflating()) continue;
        this.#waiting = waiting.slice(i + 1);
        return;
      }
    } catch (thrown) {
      this.#end(thrown);
      return;
    }
    this.#setFlow();
    if (this.#inputEnded) this.#tellEnd();
  }

  #isInflating(): boolean {
    return this.#waiting !== undefined;
  }

  /** Bytes of a call that has finished are discarded as they arrive. */
  #setFlow(): void {
    this.#stream.pause(!this.#finished && (this.#paused || this.#isInflating()));
  }

  /** Called by the stream, as are the next five. */
  received(chunk: Buffer): void {
    if (this.#finished) return; // The call needs no more bytes.
    this.#since = this.#shared.tick;
    this.traffic.received();
    try {
      this.#reader.push(chunk);
    } catch (error) {
      this.#end(error);
    }
  }

  /** Its time began at the client, and may be over there before it is here. */
  get isDue(): boolean {
    return performance.now() >= this.#dueAt;
  }

  overflowed(error: unknown): void {
    this.#end(error);
  }

  inputEnded(): void {
    this.#inputEnded = true;
    if (!this.#isInflating()) this.#tellEnd();
  }

  drained(): void {
    this.#outgoing.drained();
  }

  #tellEnd(): void {
    if (this.#finished) return;
    try {
      if (this.#reader.within) throw new RpcError(status.internal, 'the request ends inside a message');
      this.#handler?.ended();
    } catch (error) {
      this.#end(error);
    }
  }

  closed(sent: boolean): void {
    this.#closed = true;
    this.traffic.ended();
    this.#whenClosed?.(this.#finished && sent);
    this.#shared.calls.delete(this);
    this.#reader.drop();
    this.#shared.budget.release(this.#held);
    this.#held = 0;
    if (this.#finished) return;
    this.#finish();
    this.#handler?.gone();
  }

  /** Ends the call with an error, before its handler has finished it. */
  #end(error: unknown): void {
    if (this.#finished) return;
    this.fail(error);
    this.#handler?.gone();
  }

  #finish(): void {
    this.#finished = true;
    this.#since = this.#shared.tick;
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#setFlow();
  }

  #startTimer(text: string): void {
    const ms = readTimeout(text);
    const passed = (): void => {
      // Clients count in nanoseconds.
      const text = `the deadline of ${Math.ceil(ms * 1000) / 1000} ms has passed`;
      this.#end(new RpcError(status.deadlineExceeded, text));
    };
    this.#dueAt = performance.now() + ms / 2;
    this.#timer = setTimeout(passed, Math.min(Math.ceil(ms), longestTimerMs));
  }
}
