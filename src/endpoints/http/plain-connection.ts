/**
 * A connection whose requests are plain. Node's parser, its events and its objects cost more than all other work of a small
 * request. So a connection begins here, where a request is read from the socket's bytes and its head is compared with the
 * one before. At its first request that is not plain, the connection and its unread bytes go to Node for good. The same
 * holds for clients that send a request before they have the answer to the last one, and for requests that take long to
 * arrive, so that Node applies its limits.
 */

import type { Socket } from 'node:net';
import type { PlainEnd } from './plain-exchange.js';
import { mostHeadBytes, type PlainHead } from './plain-head.js';

/** The part of the endpoint that answers. */
export interface PlainAnswers {
  /** Whether requests may be plain now. */
  plain(): boolean;
  /** The head of a plain request; undefined for any other. */
  head(text: string): PlainHead | undefined;
  answer(socket: Socket, head: PlainHead, body: Buffer, end: PlainEnd): void;
  /** Tells that a head was read, whose body has not arrived. */
  arriving(socket: Socket): void;
  /** Gives the socket to Node. Its unread bytes come first. */
  handOver(socket: Socket): void;
  /** Answers a request that ends before it is complete. */
  broken(socket: Socket): void;
  /** Tells that no byte came or left for the socket's time limit. */
  timedOut(socket: Socket): void;
  readonly closing: () => boolean;
  readonly keepAlive: string;
}

/** The most pieces in which a request may come. Each further one would copy what came before. */
const mostPieces = 8;
/**
 * The most bytes and pieces that are read while an answer is made or leaves. Reading goes on until then, because the end
 * of a connection is behind them.
 */
const mostAhead = 1 << 16;
const mostPiecesAhead = 64;

const nothing = Buffer.alloc(0);
const headEnd = Buffer.from('\r\n\r\n');

/** See the head of this file. */
export class PlainConnection implements PlainEnd {
  readonly closing: () => boolean;
  readonly keepAlive: string;
  readonly #socket: Socket;
  readonly #answers: PlainAnswers;
  /** Bytes that were not used yet. */
  #bytes: Buffer = nothing;
  /** The last head, with the empty line at its end, and what it says. */
  #headBytes: Buffer = nothing;
  #head: PlainHead | undefined;
  /** Whether that head is the beginning of the request that is read. */
  #within = false;
  /** Pieces of the request that is read, or of what comes while an answer is made. */
  #pieces = 0;
  /** Whether an answer is made, or leaves slowly. */
  #answering = false;
  #asked = false;
  #given = false;
  /** How many sweeps have seen this connection without a change. */
  #sweeps = 0;

  constructor(socket: Socket, answers: PlainAnswers) {
    this.#socket = socket;
    this.#answers = answers;
    this.closing = answers.closing;
    this.keepAlive = answers.keepAlive;
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('error', ignore);
    socket.on('timeout', this.#onTimeout);
  }

  /**
   * Called regularly. Hands a connection over that waits for the rest of a request, or for its first one, and ends one that
   * has been idle for `mostIdle` calls. A connection whose answers still leave is not idle.
   */
  sweep(mostIdle: number): void {
    if (this.#given || this.#answering || this.#sweeps++ === 0) return;
    if (this.#within || this.#bytes.length > 0 || !this.#asked) this.#handOver();
    else if (this.#socket.writableLength > 0) this.#sweeps = 0;
    else if (this.#sweeps > mostIdle) this.#socket.destroy();
  }

  readonly answered = (): void => {
    if (this.#socket.writableNeedDrain) {
      // Answer nothing more until this answer has left, so that a client that does not read occupies little memory.
      this.#socket.once('drain', this.answered);
      return;
    }
    this.#answering = false;
    this.#pieces = 0;
    if (this.#bytes.length > 0) this.#handOver();
  };

  readonly #onData = (chunk: Buffer): void => {
    this.#sweeps = 0;
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    if (this.#answering) {
      // It goes to Node with its next request.
      if (this.#bytes.length > mostAhead || ++this.#pieces > mostPiecesAhead) this.#socket.pause();
      return;
    }
    if (++this.#pieces > mostPieces || !this.#answers.plain()) {
      this.#handOver();
      return;
    }
    this.#read();
  };

  /** Reads a request. Its head and its body mostly come one after the other. */
  #read(): void {
    if (!this.#within && !this.#readHead()) return;
    const head = this.#head;
    const body = this.#bytes;
    if (head === undefined) return;
    if (body.length < head.length) {
      this.#answers.arriving(this.#socket);
      return;
    }
    if (body.length > head.length) {
      this.#handOver();
      return;
    }
    this.#bytes = nothing;
    this.#pieces = 0;
    this.#within = false;
    this.#answering = true;
    this.#asked = true;
    this.#answers.answer(this.#socket, head, body, this);
  }

  /** Reads a head. Returns whether it is complete. */
  #readHead(): boolean {
    const bytes = this.#bytes;
    const known = this.#headBytes;
    if (known.length === 0 || bytes.length < known.length || known.compare(bytes, 0, known.length) !== 0) {
      const end = bytes.indexOf(headEnd);
      if (end < 0 && bytes.length <= mostHeadBytes) return false;
      const head = end > mostHeadBytes ? undefined : this.#answers.head(bytes.toString('latin1', 0, end));
      if (end < 0 || head === undefined) {
        this.#handOver();
        return false;
      }
      this.#head = head;
      // Copy, because the body's memory goes with it.
      this.#headBytes = Buffer.from(bytes.subarray(0, end + headEnd.length));
    }
    this.#bytes = bytes.subarray(this.#headBytes.length);
    this.#within = true;
    return true;
  }

  #handOver(): void {
    const socket = this.#socket;
    // It has nothing more to read, and closes by itself.
    if (this.#given || socket.destroyed || socket.readableEnded) return;
    this.#given = true;
    socket.off('data', this.#onData);
    socket.off('end', this.#onEnd);
    socket.off('error', ignore);
    socket.off('timeout', this.#onTimeout);
    const bytes = this.#within ? Buffer.concat([this.#headBytes, this.#bytes]) : this.#bytes;
    this.#bytes = nothing;
    if (bytes.length > 0) socket.unshift(bytes);
    this.#answers.handOver(socket);
    socket.resume();
  }

  /** The client sends nothing more. As with Node's parser, it gets no answer after that. */
  readonly #onEnd = (): void => {
    if ((this.#within || this.#bytes.length > 0) && !this.#answering) this.#answers.broken(this.#socket);
    else this.#socket.end();
  };

  readonly #onTimeout = (): void => {
    this.#answers.timedOut(this.#socket);
  };
}

function ignore(): void {
  // 'close' follows in any case.
}
