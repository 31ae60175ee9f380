/** Connections: counts their requests under way and their unread answers, and applies back-pressure. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Client } from '../service/client.js';
import { type TritonError, unavailable } from '../../errors.js';

/**
 * With this number of requests under way, reading from a connection pauses. Each request holds about 6 KiB until
 * its answer has left, and answers leave in the order of their requests.
 */
const mostRequests = 1024;
/** Reading resumes when only this number of requests is left. */
const fewRequests = mostRequests / 2;

/** Counts the bytes of an endpoint's answers that have not left. */
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
   * The error if no further answer may be made; undefined if it may.
   *
   * @param ofOne - Unread bytes of the answer's connection.
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
  /** Whether there was a request. */
  #asked = false;
  /** Whether the head of a plain request was read, and its body has not arrived. */
  #arriving = false;
  #lastRequest: IncomingMessage | undefined;
  #lastResponse: ServerResponse | undefined;
  #paused = false;
  #listens = false;
  #ending = false;

  constructor(socket: Socket, bytes: AnswerBytes) {
    this.#socket = socket;
    this.#bytes = bytes;
    const gone = (): void => {
      // Node emits no events for answers that waited behind another answer.
      bytes.add(-this.#unread);
      this.#unread = 0;
      this.client.end();
    };
    if (socket.destroyed) gone();
    else socket.once('close', gone);
  }

  /** Keeps the connection for a plain request whose body has not arrived. Another parser may begin the request. */
  arriving(): void {
    this.#arriving = true;
  }

  /** Counts a plain request. The connection has no other one meanwhile. */
  began(): void {
    this.#asked = true;
    this.#arriving = false;
    this.#answers++;
  }

  /** Counts a request. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    this.#asked = true;
    this.#arriving = false;
    this.#lastRequest = request;
    this.#lastResponse = response;
    if (++this.#answers < mostRequests || this.#paused) return;
    this.#paused = true;
    this.#socket.pause();
    if (this.#listens) return;
    this.#listens = true;
    // Reading a request's body resumes its socket.
    this.#socket.on('resume', () => {
      if (this.#paused) this.#socket.pause();
    });
  }

  /**
   * Ends a request: its answer has left, or cannot leave any more.
   *
   * @param size - The bytes of the answer that {@link wrote} has counted.
   */
  end(size: number): void {
    this.left(size);
    this.#answers--;
    if (this.#paused && this.#answers <= fewRequests) {
      this.#paused = false;
      this.#socket.resume();
    }
    if (this.#ending && this.idle) this.#socket.destroySoon();
  }

  /** Ends a plain request as {@link end} does. */
  endPlain(size: number): void {
    this.end(size);
    // Node does the same after its answers. Otherwise the limit of `watch` would end an idle connection.
    if (this.#answers === 0 && (this.#socket.timeout ?? 0) > 0) this.#socket.setTimeout(0);
  }

  /** The error if no answer may be made, because clients read too slowly; undefined if it may. */
  refusal(): TritonError | undefined {
    return this.#bytes.refusal(this.#unread);
  }

  /** Counts written bytes of an answer until they have left, or the connection ends. */
  wrote(size: number): void {
    if (this.client.gone) return;
    this.#unread += size;
    this.#bytes.add(size);
  }

  left(size: number): void {
    this.wrote(-size);
  }

  /** Whether reading is paused, so that a late request is not the client's fault. */
  get paused(): boolean {
    return this.#paused;
  }

  /** Makes Node emit 'timeout' if the client reads none of its waiting answers for this number of milliseconds. */
  watch(timeoutMs: number): void {
    if (this.#unread > 0 && this.#socket.timeout !== timeoutMs) this.#socket.setTimeout(timeoutMs);
  }

  /** Whether the connection has had requests, all of them have been answered, and no other one is known to arrive. */
  get idle(): boolean {
    return this.#answers === 0 && this.#asked && !this.#arriving;
  }

  /** Whether the client would take bytes written now for the answer to an earlier request. */
  get answering(): boolean {
    if (this.#answers !== 1) return this.#answers > 1;
    return this.#lastRequest?.complete !== false || this.#lastResponse?.headersSent !== false;
  }

  /** Ends the connection with its last answer; now, if all answers have left or no byte ever came. */
  endSoon(): void {
    this.#ending = true;
    if (this.#socket.bytesRead === 0 || this.idle) this.#socket.destroy();
  }

  /** Ends the connection now. */
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
