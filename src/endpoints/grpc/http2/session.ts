/**
 * A connection of HTTP/2, from the server's side: https://www.rfc-editor.org/rfc/rfc9113. It replaces `node:http2`, whose
 * streams and events cost more than all other work of a small call. A client that breaks a rule loses the call or the
 * connection at once, as the rule says.
 */

import type { Socket } from 'node:net';
import { Leak } from '../../../protocol/grpc/leak.js';
import { ConnectionError, errorCode } from '../../../protocol/http2/errors.js';
import { frameFlag, frameOf, frameType } from '../../../protocol/http2/frames.js';
import { tableBytes } from '../../../protocol/http2/hpack-decoder.js';
import { emptyTable } from '../../../protocol/http2/hpack-encoder.js';
import { defaultWindow, readSettings } from '../../../protocol/http2/settings.js';
import { clearTimeout, setTimeout } from '../../../timers.js';
import { Incoming, type IncomingEvents } from './incoming.js';
import { connectionWindow, numberOf, type SessionShared } from './limits.js';
import { Output, type OutputEvents } from './output.js';
import { ResetStreams } from './reset-streams.js';
import { Stream, type StreamHost } from './stream.js';

/**
 * How many oddities a client may have, at once and a second: frames that mean nothing but cost something, and streams that
 * it makes the server reset.
 */
const mostOddities = 1000;
const odditiesPerSecond = 33;
/** How long a client has to read the last frames before its connection is destroyed. */
const goodbyeMs = 1000;
/** The longest text of a GOAWAY frame. */
const mostTextBytes = 256;

/** Is told what a connection does. */
export interface SessionEvents {
  /** Tells that the client speaks HTTP/2. */
  ready(): void;
  /** Takes a call. */
  call(stream: Stream): void;
  /** Tells of a ping, which is answered. */
  pinged(): void;
  /** Tells that a ping of this side was answered. */
  ponged(): void;
  /**
   * Tells that the client has reset a call.
   *
   * @param waited - Whether the client has waited for the call: something had been sent to it, or the call's time was over.
   */
  cancelled(waited: boolean): void;
  /** Tells that the connection has ended, once. */
  closed(): void;
}

/** See the head of this file. */
export class Session implements IncomingEvents, OutputEvents, StreamHost {
  readonly #socket: Socket;
  readonly #shared: SessionShared;
  readonly #events: SessionEvents;
  readonly #incoming: Incoming = new Incoming(this);
  readonly #output: Output;
  /** A Map would leave copies of its table behind, which keep streams that have ended in memory. */
  #streams: Record<number, Stream> = {};
  #count = 0;
  /** The last stream that the client has opened, and the last that was not ignored. */
  #lastSeen = 0;
  #lastTaken = 0;
  readonly #resets: ResetStreams = new ResetStreams();
  readonly #oddities: Leak = new Leak(mostOddities, odditiesPerSecond);
  /** How much the client may send. */
  #window = connectionWindow;
  /** The window of new streams for what is sent. */
  #initialWindow = defaultWindow;
  #isReady = false;
  /** Whether the client wants a smaller table of headers than the usual one, and whether it was told that it is empty. */
  #wantsEmptyTable = false;
  #tableEmpty = false;
  /** The payload of the ping that waits for its answer; 0: none does. */
  #ping = 0;
  #pings = 0;
  /** Whether new calls are ignored, and the connection ends with its last one. */
  #closing = false;
  /** Whether nothing is read or sent any more. */
  #over = false;
  /** Of a connection that is over: whether the client's bytes prolong its time to read. */
  #isPatient = false;
  /** When the end of a call was last sent. */
  #answeredAt = -Infinity;
  #goodbye: NodeJS.Timeout | undefined;

  constructor(socket: Socket, shared: SessionShared, events: SessionEvents) {
    this.#socket = socket;
    this.#shared = shared;
    this.#events = events;
    this.#output = new Output(socket, shared.slab, this);
    socket.on('data', this.#onChunk);
    socket.on('end', this.#onEnd);
    socket.on('error', ignore);
    socket.once('close', this.#onClose);
    this.#output.send(shared.opening);
  }

  /** The bytes of headers and data that were sent. */
  get answerBytes(): number {
    return this.#output.answerBytes;
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  /** For how many milliseconds nothing was sent although bytes wait. */
  stuckMs(now: number): number {
    return this.#output.stuckMs(now);
  }

  /** Sends a ping, unless one waits for its answer. Returns whether it was sent. */
  ping(): boolean {
    if (this.#over || this.#ping !== 0) return false;
    this.#ping = ++this.#pings;
    this.#output.send(frameOf(frameType.ping, 0, 0, pingOf(this.#ping)));
    return true;
  }

  /** Takes no more calls, and ends the connection with its last call. The client is told why. */
  goAway(code: number, text: string): void {
    if (this.#over || (this.#closing && code === errorCode.none)) return;
    this.#closing = true;
    this.#sayGoodbye(code, text);
    if (this.#count === 0) this.#finish(code === errorCode.none);
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.#socket.destroy();
  }

  #sayGoodbye(code: number, text: string): void {
    const said = Buffer.from(text.slice(0, mostTextBytes));
    const payload = Buffer.concat([numberOf(this.#lastTaken), numberOf(code), said]);
    this.#output.send(frameOf(frameType.goAway, 0, 0, payload));
  }

  /** Ends the connection because of an error. */
  #fail(error: unknown): void {
    if (this.#over) return;
    // Anything else is a lack of memory.
    const { code, message } =
      error instanceof ConnectionError ? error : { code: errorCode.internal, message: 'internal error' };
    this.#sayGoodbye(code, message);
    this.#finish(false);
  }

  /**
   * Sends what waits, and closes the connection when the client has read it.
   *
   * @param isPatient - Whether the client has time to read; else it gets a moment only.
   */
  #finish(isPatient: boolean): void {
    const { answersMs } = this.#shared;
    const isAnswered = this.#socket.writableLength > 0 || performance.now() - this.#answeredAt < answersMs;
    this.#output.flush();
    // The last call may have ended by that, and the connection with it.
    if (this.#over) return;
    this.#over = true;
    this.#incoming.stop();
    this.#endStreams();
    if (this.#socket.destroyed) return;
    // Closing a socket with unread bytes resets the connection, and the client could lose what was sent last.
    const wait = (): void => {
      this.#goodbye ??= setTimeout(
        () => {
          this.destroy();
        },
        this.#isPatient ? Math.max(goodbyeMs, answersMs) : goodbyeMs,
      ).unref();
    };
    this.#isPatient = isPatient && isAnswered;
    if (!isPatient) wait();
    this.#output.end(wait);
  }

  #endStreams(): void {
    const streams = Object.values(this.#streams);
    this.#streams = {};
    this.#count = 0;
    for (const stream of streams) stream.close();
  }

  readonly #onChunk = (chunk: Buffer): void => {
    if (this.#over) {
      if (this.#isPatient) this.#goodbye?.refresh();
      return;
    }
    try {
      this.#incoming.push(chunk);
    } catch (error) {
      this.#fail(error);
    }
  };

  readonly #onEnd = (): void => {
    this.#socket.destroy();
  };

  readonly #onClose = (): void => {
    this.#over = true;
    this.#incoming.stop();
    clearTimeout(this.#goodbye);
    this.#endStreams();
    this.#events.closed();
  };

  // What the client sends.

  onData(id: number, length: number): Stream | undefined {
    this.#window -= length;
    if (this.#window < 0)
      throw new ConnectionError(errorCode.flowControl, 'the window of the connection is exceeded');
    const used = connectionWindow - this.#window;
    if (used >= connectionWindow / 2) {
      this.#window = connectionWindow;
      this.#output.send(frameOf(frameType.windowUpdate, 0, 0, numberOf(used)));
    }
    const stream = this.#streams[id];
    if (stream === undefined) {
      this.#checkSeen(id);
      if (!this.#isExcused(id)) this.#refuse(id, errorCode.streamClosed);
      return undefined;
    }
    if (stream.remoteEnded) this.fault(stream, errorCode.streamClosed);
    else if (stream.arrive(length)) return stream;
    else this.fault(stream, errorCode.flowControl);
    return undefined;
  }

  onHeaders(id: number, endsStream: boolean, block: Buffer): void {
    const { blocks } = this.#incoming;
    const stream = this.#streams[id];
    if (stream !== undefined || id <= this.#lastSeen) {
      const valid = blocks.trailers(block);
      if (stream === undefined) this.#checkExcused(id);
      else if (stream.remoteEnded) this.fault(stream, errorCode.streamClosed);
      else if (!valid || !endsStream) this.fault(stream, errorCode.protocol);
      else stream.receiveEnd();
      return;
    }
    if ((id & 1) === 0)
      throw new ConnectionError(errorCode.protocol, `a client cannot open the stream ${id}`);
    this.#lastSeen = id;
    const headers = blocks.request(block);
    // The client repeats the call on another connection.
    if (this.#closing) return;
    this.#lastTaken = id;
    if (typeof headers === 'number') this.#refuse(id, headers);
    else if (this.#count >= this.#shared.maxConcurrentStreams) this.#refuse(id, errorCode.refusedStream);
    else {
      const opened = new Stream(id, headers, this.#initialWindow, this);
      this.#streams[id] = opened;
      this.#count++;
      this.#events.call(opened);
      if (endsStream) opened.receiveEnd();
    }
  }

  onReset(id: number, code: number): void {
    const stream = this.#streams[id];
    if (stream === undefined) {
      this.#checkSeen(id);
      // It crossed the end of the call, as resets at deadlines do.
      this.#events.cancelled(true);
      return;
    }
    const { begun } = stream;
    const isDue = stream.user?.isDue === true;
    this.#remove(stream);
    // A client that needs no more than it has got may say so.
    if (code !== errorCode.none || !begun) this.#events.cancelled(begun || isDue);
  }

  onSettings(payload: Buffer): void {
    const { initialWindow, frameBytes, tableBytes: table } = readSettings(payload);
    if (frameBytes !== undefined) this.#output.frameBytes = frameBytes;
    if (table !== undefined && table < tableBytes) this.#wantsEmptyTable = true;
    if (initialWindow !== undefined) {
      const more = initialWindow - this.#initialWindow;
      this.#initialWindow = initialWindow;
      for (const stream of Object.values(this.#streams))
        if (!stream.widen(more))
          throw new ConnectionError(errorCode.flowControl, 'an initial window makes a window too large');
    }
    this.#output.send(settingsTaken);
    if (this.#isReady) this.odd();
    else {
      this.#isReady = true;
      this.#events.ready();
    }
  }

  onPing(payload: Buffer): void {
    this.#output.send(frameOf(frameType.ping, frameFlag.ack, 0, payload));
    this.#events.pinged();
  }

  onPong(payload: Buffer): void {
    if (this.#ping === 0 || payload.compare(pingOf(this.#ping)) !== 0) {
      this.odd();
      return;
    }
    this.#ping = 0;
    this.#events.ponged();
  }

  onGoAway(): void {
    this.goAway(errorCode.none, '');
  }

  onWindow(id: number, bytes: number): void {
    if (id === 0) {
      if (bytes === 0) throw new ConnectionError(errorCode.protocol, 'a window grows by 0 bytes');
      if (!this.#output.widen(bytes))
        throw new ConnectionError(errorCode.flowControl, 'the window of the connection is too large');
      return;
    }
    const stream = this.#streams[id];
    if (stream === undefined) this.#checkSeen(id);
    else if (bytes === 0) this.fault(stream, errorCode.protocol);
    else if (!stream.widen(bytes)) this.fault(stream, errorCode.flowControl);
  }

  odd(): void {
    if (this.#oddities.add(performance.now()))
      throw new ConnectionError(errorCode.enhanceYourCalm, 'too many frames that mean nothing, or errors');
  }

  /** Checks that a stream which is not open was once. */
  #checkSeen(id: number): void {
    if (id <= this.#lastSeen && (id & 1) === 1) return;
    throw new ConnectionError(errorCode.protocol, `the stream ${id} was never opened`);
  }

  /** Checks that headers of a stream which is not open were under way when it ended. */
  #checkExcused(id: number): void {
    if (this.#isExcused(id)) return;
    throw new ConnectionError(errorCode.streamClosed, `headers come for the stream ${id}, which has ended`);
  }

  /** Whether frames of a stream which is not open are no error: it was reset or ignored. */
  #isExcused(id: number): boolean {
    return id > this.#lastTaken || this.#resets.has(id);
  }

  /** Resets a stream that is not open, because of an error of the client. */
  #refuse(id: number, code: number): void {
    this.odd();
    this.#sendReset(id, code);
  }

  #sendReset(id: number, code: number): void {
    this.#resets.add(id);
    this.#output.send(frameOf(frameType.resetStream, 0, id, numberOf(code)));
  }

  #remove(stream: Stream): void {
    if (stream.closed) return;
    // eslint-disable-next-line typescript/no-dynamic-delete -- It is a table of numbers.
    delete this.#streams[stream.id];
    this.#count--;
    stream.close();
    if (this.#closing && this.#count === 0) this.#finish(true);
  }

  // What streams need.

  ready(stream: Stream): void {
    this.#output.ready(stream);
  }

  reset(stream: Stream, code: number): void {
    this.#sendReset(stream.id, code);
    this.#remove(stream);
  }

  fault(stream: Stream, code: number): void {
    this.odd();
    this.reset(stream, code);
  }

  credit(stream: Stream, bytes: number): void {
    this.#output.send(frameOf(frameType.windowUpdate, 0, stream.id, numberOf(bytes)));
  }

  wait(bytes: number): void {
    const { budget } = this.#shared;
    if (bytes > 0) budget.add(bytes);
    else budget.release(-bytes);
  }

  keep(bytes: number): void {
    this.#shared.budget.take(bytes);
  }

  sending(bytes: number): void {
    this.#output.sending(bytes);
  }

  nextBlock(block: Buffer): Buffer {
    if (!this.#wantsEmptyTable || this.#tableEmpty) return block;
    this.#tableEmpty = true;
    return Buffer.concat([emptyTable, block]);
  }

  // What was sent.

  sent(stream: Stream): void {
    this.#answeredAt = performance.now();
    if (stream.stopsClient) this.reset(stream, errorCode.none);
    else if (stream.remoteEnded) this.#remove(stream);
  }

  left(bytes: number): void {
    this.#shared.budget.release(bytes);
  }

  failed(): void {
    this.#socket.destroy();
  }
}

const settingsTaken = frameOf(frameType.settings, frameFlag.ack, 0, Buffer.alloc(0));

function pingOf(count: number): Buffer {
  const payload = Buffer.alloc(8);
  payload.writeUInt32BE(count, 4);
  return payload;
}

function ignore(): void {
  // 'close' follows in any case.
}
