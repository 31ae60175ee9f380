/** Connections: their requests under way, what their clients have not read, and when they are read no further. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Client } from '../service/client.js';
import { type TritonError, unavailable } from '../../errors.js';

/**
 * With this number of requests under way, a connection is not read any further. Each holds about 6 KiB until its answer
 * has left, and answers leave in the order of their requests.
 */
const mostRequests = 1024;
/** It is read again when only this number is left. */
const fewRequests = mostRequests / 2;

/** Bytes of answers that have not left, of an endpoint. */
export class AnswerBytes {
  /** The most of all connections together, and of each. One answer may be larger. */
  readonly #most: number;
  readonly #mostOfOne: number;
  #held = 0;

  constructor(most: number, mostOfOne: number) {
    this.#most = most;
    this.#mostOfOne = mostOfOne;
  }

  get held(): number {
    return this.#held;
  }

  add(size: number): void {
    this.#held += size;
  }

  /**
   * Why another answer must not be made; undefined where it may.
   *
   * @param ofOne - Bytes that its connection has already.
   */
  refusal(ofOne: number): TritonError | undefined {
    if (ofOne >= this.#mostOfOne) return unread('this connection', ofOne, this.#mostOfOne);
    return this.#held >= this.#most ? unread('all connections', this.#held, this.#most) : undefined;
  }
}

function unread(whose: string, held: number, most: number): TritonError {
  return unavailable(
    'UNREAD',
    `clients have not read ${held} bytes of answers of ${whose}; the limit is ${most}`,
  );
}

/** See the head of this file. */
export class Connection {
  readonly client: Client = new Client();
  readonly #socket: Socket;
  readonly #bytes: AnswerBytes;
  /** Answers that have not left. */
  #answers = 0;
  /** Their bytes. */
  #unread = 0;
  #lastRequest: IncomingMessage | undefined;
  #lastResponse: ServerResponse | undefined;
  #paused = false;
  #listens = false;
  #ending = false;

  constructor(socket: Socket, bytes: AnswerBytes) {
    this.#socket = socket;
    this.#bytes = bytes;
    const gone = (): void => {
      // Node says nothing more of answers that stood behind another one.
      bytes.add(-this.#unread);
      this.#unread = 0;
      this.client.end();
    };
    if (socket.destroyed) gone();
    else socket.once('close', gone);
  }

  /** A request has come. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    this.#lastRequest = request;
    this.#lastResponse = response;
    if (++this.#answers < mostRequests || this.#paused) return;
    this.#paused = true;
    this.#socket.pause();
    if (this.#listens) return;
    this.#listens = true;
    // Whoever reads the body of a request resumes its socket.
    this.#socket.on('resume', () => {
      if (this.#paused) this.#socket.pause();
    });
  }

  /**
   * Its answer has left, or cannot any more.
   *
   * @param size - What was counted of it with {@link wrote}.
   */
  end(size: number): void {
    this.left(size);
    this.#answers--;
    if (this.#paused && this.#answers <= fewRequests) {
      this.#paused = false;
      this.#socket.resume();
    }
    if (this.#answers === 0 && this.#ending) this.#socket.destroySoon();
  }

  /** Why an answer must not be made, as clients read too little; undefined where it may. */
  refusal(): TritonError | undefined {
    return this.#bytes.refusal(this.#unread);
  }

  /** Bytes of an answer have been written. They count until they have left, or the connection ends. */
  wrote(size: number): void {
    if (this.client.gone) return;
    this.#unread += size;
    this.#bytes.add(size);
  }

  left(size: number): void {
    this.wrote(-size);
  }

  /** Whether it is not read, so that what comes late is not its client's fault. */
  get paused(): boolean {
    return this.#paused;
  }

  /** Node emits 'timeout' if the client reads nothing of what waits for it for this number of milliseconds. */
  watch(timeoutMs: number): void {
    if (this.#unread > 0 && this.#socket.timeout !== timeoutMs) this.#socket.setTimeout(timeoutMs);
  }

  /** Whether it had an answer to every request, and had one. */
  get idle(): boolean {
    return this.#answers === 0 && this.#lastRequest !== undefined;
  }

  /** Whether what is written to it now would be taken for another answer than that of the request that is arriving. */
  get answering(): boolean {
    if (this.#answers !== 1) return this.#answers > 1;
    return this.#lastRequest?.complete !== false || this.#lastResponse?.headersSent !== false;
  }

  /** It ends with its last answer; now, if it has them all or never said a word. */
  endSoon(): void {
    this.#ending = true;
    if (this.#socket.bytesRead === 0 || this.idle) this.#socket.destroy();
  }

  /** It ends now. */
  destroy(): void {
    this.#socket.destroy();
  }
}

/** The connections of an endpoint. */
export class Connections {
  readonly #bytes: AnswerBytes;
  readonly #all: WeakMap<object, Connection> = new WeakMap();

  constructor(bytes: AnswerBytes) {
    this.#bytes = bytes;
  }

  of(socket: Socket): Connection {
    const known = this.#all.get(socket);
    if (known !== undefined) return known;
    const made = new Connection(socket, this.#bytes);
    this.#all.set(socket, made);
    return made;
  }
}
