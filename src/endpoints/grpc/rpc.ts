/** A call: an HTTP/2 stream with messages in it. What the call does is its {@link RpcHandler}'s. */

import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Budget } from '../../protocol/grpc/budget.js';
import type { CallList, Listed } from './call-list.js';
import { compressionFor, type Compression, type CompressionLevel, type Inflater } from './compression.js';
import { MessageReader, readTimeout } from '../../protocol/grpc/framing.js';
import { RpcError, status } from '../../protocol/grpc/status.js';
import type { Answer } from './infer-response.js';
import { Outgoing } from './outgoing.js';

/** What a call does. */
export interface RpcHandler {
  /** Whether it may wait for messages as long as it likes. */
  readonly endless: boolean;
  /**
   * Takes a message. What it throws ends the call.
   *
   * @param bytes - They count as held until the call ends, or {@link Rpc.release} gives them back.
   */
  message(bytes: Buffer): void;
  /** The client has sent everything. What it throws ends the call. */
  ended(): void;
  /** The call has ended before it was finished: cancelled, too late, or without a connection. */
  gone(): void;
}

/** What all calls of an endpoint share. */
export interface RpcShared {
  readonly maxRequestBytes: number;
  readonly budget: Budget;
  readonly inflater: Inflater;
  readonly level: CompressionLevel;
  /** Calls that have not ended, for {@link Rpc.checkProgress}. */
  readonly calls: CallList<Rpc>;
  /** Counts up. What does not move for {@link mostTicks} has stopped. */
  tick: number;
}

/** Is told what happens on a connection. */
export interface Traffic {
  began(): void;
  ended(): void;
  /** @param answered - Whether something had been sent to the call. */
  cancelled(answered: boolean): void;
  received(): void;
  sent(): void;
}

/** How many ticks a message may take to arrive, and an answer to be taken. */
export const mostTicks = 8;

/** The longest that a timer takes. */
const longestTimer = 2 ** 31 - 1;

/** A message that waits for one before it to be decompressed. */
interface Waiting {
  readonly bytes: Buffer;
  readonly compressed: boolean;
}

/** See the head of this file. */
export class Rpc implements Listed {
  place = -1;
  readonly headers: IncomingHttpHeaders;
  readonly #stream: ServerHttp2Stream;
  readonly #shared: RpcShared;
  readonly traffic: Traffic;
  readonly #reader: MessageReader;
  readonly #outgoing: Outgoing;
  #handler: RpcHandler | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Bytes of messages that count as held. */
  #held = 0;
  #waiting: Waiting[] | undefined;
  #received = false;
  #inputEnded = false;
  #finished = false;
  #closed = false;
  /** Whether it was this side that reset the stream. */
  #aborted = false;
  #paused = false;
  /** The tick in which it moved last. */
  #since: number;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, shared: RpcShared, traffic: Traffic) {
    this.#stream = stream;
    this.headers = headers;
    this.#shared = shared;
    this.traffic = traffic;
    traffic.began();
    this.#reader = new MessageReader(shared.maxRequestBytes, shared.budget, this);
    this.#outgoing = new Outgoing(stream, shared.budget, shared.level);
    this.#since = shared.tick;
    shared.calls.add(this);
    stream.on('close', this.#onClose);
    stream.on('error', ignore);
  }

  /**
   * Starts to read; `handler` gets what comes.
   *
   * @throws {@link RpcError} INTERNAL for a deadline that cannot be read.
   */
  start(handler: RpcHandler): void {
    const timeout = this.headers['grpc-timeout'];
    if (timeout !== undefined) this.#startTimer(String(timeout));
    this.#handler = handler;
    const stream = this.#stream;
    stream.on('data', this.#onData);
    stream.on('end', this.#onEnd);
  }

  /** Whether nothing can be sent any more. */
  get finished(): boolean {
    return this.#finished;
  }

  /** Whether what was sent waits in memory, because the client does not take it. */
  get congested(): boolean {
    return this.#outgoing.congested;
  }

  /** Whether an answer has been given whose end was not seen. */
  get isSending(): boolean {
    return this.#finished || this.congested;
  }

  /** Calls `drained` once, when nothing waits any more; never if the call ends before. */
  onDrain(drained: () => void): void {
    this.#outgoing.onDrain(drained);
  }

  /** What compresses the answers of models. */
  get compression(): Compression | undefined {
    const { level } = this.#shared;
    const accepted = this.headers['grpc-accept-encoding'];
    return level === 'none' || accepted === undefined ? undefined : compressionFor(level, String(accepted));
  }

  /** Stops to take messages, or goes on. */
  pause(paused: boolean): void {
    if (paused === this.#paused || (paused && this.#finished)) return;
    this.#paused = paused;
    this.#setFlow();
  }

  /** Gives back bytes of a message that are needed no more. */
  release(bytes: number): void {
    if (this.#closed) return;
    this.#held -= bytes;
    this.#shared.budget.give(bytes);
  }

  /** Sends one of many messages. */
  send(answer: Answer, compression?: Compression): void {
    if (this.#finished) return;
    this.#since = this.#shared.tick;
    this.traffic.sent();
    this.#outgoing.send(checked(answer), compression);
  }

  /** Sends the status OK, and before it a message if there is one. */
  finish(answer?: Answer, compression?: Compression): void {
    if (this.#finished) return;
    const last = answer === undefined ? undefined : checked(answer);
    this.#finish();
    this.traffic.sent();
    this.#outgoing.end(last, compression);
  }

  /** Ends the call with an error. */
  fail(error: unknown): void {
    if (this.#finished) return;
    this.#finish();
    this.#outgoing.fail(error);
    // A client that still sends need not.
    if (!this.#inputEnded && !this.#received) closeSoon(this.#stream);
  }

  /** Ends it at once, without a status. */
  abort(): void {
    this.#aborted = true;
    this.#outgoing.abort();
  }

  /** Looks whether it still moves: what has stopped for too long ends. */
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

  /** Whether there is nothing to do but to wait for the client. */
  #isArriving(): boolean {
    if (this.#reader.within) return true;
    return !this.#received && this.#handler?.endless === false;
  }

  /** {@link MessageReader} has read a message. */
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
        'a message is said to be compressed, but grpc-encoding does not say how',
      );
    this.#waiting = [];
    this.#setFlow();
    // Until then they are the inflater's to count.
    this.#held -= bytes.length;
    this.#shared.inflater.inflate(bytes, (error, plain) => {
      this.#inflated(error, plain);
    });
  }

  #inflated(error: Error | undefined, plain: Buffer): void {
    if (this.#closed) {
      this.#shared.budget.give(plain.length);
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

  #setFlow(): void {
    if (this.#paused || this.#isInflating()) this.#stream.pause();
    else this.#stream.resume();
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#finished) return; // Nobody waits for it.
    this.#since = this.#shared.tick;
    this.traffic.received();
    try {
      this.#reader.push(chunk);
    } catch (error) {
      this.#end(error);
    }
  };

  readonly #onEnd = (): void => {
    this.#inputEnded = true;
    if (!this.#isInflating()) this.#tellEnd();
  };

  #tellEnd(): void {
    if (this.#finished) return;
    try {
      if (this.#reader.within) throw new RpcError(status.internal, 'the request ends within a message');
      this.#handler?.ended();
    } catch (error) {
      this.#end(error);
    }
  }

  readonly #onClose = (): void => {
    this.#closed = true;
    this.traffic.ended();
    const { rstCode, headersSent } = this.#stream;
    if (rstCode !== constants.NGHTTP2_NO_ERROR && !this.#aborted) this.traffic.cancelled(headersSent);
    this.#shared.calls.delete(this);
    this.#reader.drop();
    this.#shared.budget.give(this.#held);
    this.#held = 0;
    if (this.#finished) return;
    this.#finish();
    this.#handler?.gone();
  };

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
    if (this.#paused) this.pause(false); // What still comes is thrown away.
  }

  #startTimer(text: string): void {
    const ms = readTimeout(text);
    const passed = (): void => {
      this.#end(new RpcError(status.deadlineExceeded, `the deadline of ${ms} ms has passed`));
    };
    this.#timer = setTimeout(passed, Math.min(Math.ceil(ms), longestTimer));
  }
}

function ignore(): void {
  // 'close' comes in any case.
}

/** Tells the client that it need not send more, behind the answer: newer Node throws away what has not left yet. */
export function closeSoon(stream: ServerHttp2Stream): void {
  setImmediate(() => {
    stream.close(constants.NGHTTP2_NO_ERROR);
  });
}

/** As Triton's. */
const mostAnswerBytes = 2 ** 31 - 1;

function checked(answer: Answer): Answer {
  if (answer.size <= mostAnswerBytes) return answer;
  const text = `the answer has ${answer.size} bytes; a message has ${mostAnswerBytes} at most`;
  throw new RpcError(status.resourceExhausted, text);
}
