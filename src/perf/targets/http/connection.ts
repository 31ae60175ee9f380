/** A connection with one request under way at a time. */

import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Broken, causeText, unreadable } from '../../../client/failures.js';
import { thrownText } from '../../../thrown-text.js';
import type { Flight } from '../../load/flight.js';
import { ResponseReader, type Response } from './response-reader.js';

/** Is told what becomes of requests and connections. */
export interface ConnectionOwner {
  answered(connection: Connection, flight: Flight, response: Response): void;
  /** The connection was closed; `flight` got no answer. `untouched`: no byte of an answer came on a used connection. */
  broke(connection: Connection, flight: Flight | undefined, error: Error, untouched: boolean): void;
}

/** How many bytes are read at once. The memory is used again for each read. */
const readBytes = 16 << 10;

/** See the head of this file. */
export class Connection {
  readonly #owner: ConnectionOwner;
  readonly #url: URL;
  readonly #model: string;
  readonly #socket: Socket;
  readonly #reader: ResponseReader = new ResponseReader({
    response: (response, isLast) => {
      if (this.#got === undefined) this.#got = { response, isLast };
      else this.#tooMany = true;
    },
  });
  /** The response in the bytes that are being read. It is handed on once nothing follows it. */
  #got: { readonly response: Response; readonly isLast: boolean } | undefined;
  #tooMany = false;
  #flight: Flight | undefined;
  #used = false;
  #closed = false;

  constructor(owner: ConnectionOwner, url: URL, model: string) {
    this.#owner = owner;
    this.#url = url;
    this.#model = model;
    const secure = url.protocol === 'https:';
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const target = {
      host,
      port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafeSlow(readBytes),
        callback: (size: number, buffer: Uint8Array): boolean => {
          this.#read(buffer, size);
          return true;
        },
      },
    };
    this.#socket = secure
      ? // An address has no name that could be sent; the certificate is checked against it all the same.
        connectTls({ ...target, ...(isIP(host) === 0 && { servername: host }) })
      : connectTcp(target);
    this.#socket.on('error', (error) => {
      this.#end(error);
    });
    this.#socket.on('close', () => {
      this.#end(undefined);
    });
  }

  /** Whether requests may be sent. */
  get usable(): boolean {
    return !this.#closed && !this.#socket.destroyed && this.#socket.writable;
  }

  /**
   * Sends a request. None may be under way.
   *
   * @param keep - Whether the body of the response is needed.
   */
  send(flight: Flight, bytes: Buffer, keep: boolean): void {
    this.#flight = flight;
    this.#reader.keep = keep;
    flight.sending();
    this.#socket.write(bytes);
    flight.writtenMs = performance.now();
  }

  destroy(): void {
    this.#closed = true;
    this.#socket.destroy();
  }

  #read(buffer: Uint8Array, size: number): void {
    const flight = this.#flight;
    const bytes = Buffer.from(buffer.buffer, buffer.byteOffset, size);
    if (flight === undefined) {
      this.#unasked(bytes);
      return;
    }
    if (flight.answeredMs === 0) flight.answeredMs = performance.now();
    try {
      this.#reader.push(bytes);
    } catch (error) {
      this.#fail(unreadable(this.#model, thrownText(error), error));
      return;
    }
    if (this.#got === undefined) return;
    // They would be taken for the answer to the next request.
    if (this.#tooMany || this.#reader.within)
      this.#fail(unreadable(this.#model, 'the server sent more than one response to a request'));
    else this.#answered(flight);
  }

  #answered(flight: Flight): void {
    const got = this.#got;
    if (got === undefined) return;
    this.#got = undefined;
    this.#flight = undefined;
    this.#used = true;
    if (got.isLast) this.destroy();
    this.#owner.answered(this, flight, got.response);
  }

  /** Bytes on a connection without a request. Some servers announce so that they close it. */
  #unasked(bytes: Buffer): void {
    const text = bytes.toString('latin1', 0, 12);
    this.#fail(
      text === 'HTTP/1.1 408'
        ? new Broken(`no answer from ${this.#url.origin}: the server closed the connection`, {
            model: this.#model,
          })
        : unreadable(this.#model, 'the server sent a response that no request asked for'),
    );
  }

  #end(cause: Error | undefined): void {
    if (this.#closed) return;
    if (cause === undefined && this.#flight !== undefined && this.#reader.ended()) {
      this.#answered(this.#flight);
      return;
    }
    const untouched = this.#used && !this.#reader.within;
    const why = cause === undefined ? 'the server closed the connection' : causeText(cause);
    const options = { model: this.#model, cause };
    this.#fail(new Broken(`no answer from ${this.#url.origin}: ${why}`, options), untouched);
  }

  #fail(error: Error, untouched = false): void {
    const flight = this.#flight;
    this.#flight = undefined;
    this.destroy();
    this.#owner.broke(this, flight, error, untouched);
  }
}
