/** A plain request and its answer, which is written to the socket in one piece. */

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { TritonError } from '../../errors.js';
import { asTritonError, httpStatus, reasonHeader } from '../../protocol/statuses.js';
import type { Client } from '../service/client.js';
import type { BodyReader } from './body.js';
import type { Encoding } from './compression.js';
import type { Connection } from './connection.js';
import { inferHeaders } from './exchange.js';
import type { InferExchange } from './infer-exchange.js';
import type { InferAnswer } from './infer-response.js';
import { dropMemoryOf } from './output-memory.js';

const noHeaders: readonly string[] = [];
/** Answers with more bytes of outputs are written without a copy. */
const mostCopied = 1 << 14;

let dateSecond = -1;
let dateText = '';

/** The header Date, as Node writes it. */
function date(): string {
  const now = Date.now();
  const second = Math.floor(now / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = new Date(now).toUTCString();
  }
  return dateText;
}

/** How the answer's connection goes on. */
export interface PlainEnd {
  /** Whether the endpoint is closing, so that the connection ends with this answer. */
  readonly closing: () => boolean;
  /** The lines of the head that say how long an idle connection is kept. */
  readonly keepAlive: string;
  /** Called when the answer was written. */
  readonly answered: () => void;
}

/** See the head of this file. */
export class PlainExchange implements InferExchange {
  readonly trace: undefined = undefined;
  readonly rawHeaders: readonly string[] = noHeaders;
  readonly encoding: Encoding = 'identity';
  readonly client: Client;
  readonly #socket: Socket;
  readonly #connection: Connection;
  readonly #bodies: BodyReader;
  readonly #end: PlainEnd;
  /** Bytes of the body that are counted. */
  #body: number;
  #answered = false;
  /** Whether an answer could not be written. */
  #failed = false;

  /** @param size - Bytes of the request's body, which the reader counts until {@link finish}. */
  constructor(socket: Socket, connection: Connection, bodies: BodyReader, size: number, end: PlainEnd) {
    this.client = connection.client;
    this.#socket = socket;
    this.#connection = connection;
    this.#bodies = bodies;
    this.#body = size;
    this.#end = end;
    connection.began();
  }

  get open(): boolean {
    return !this.#answered && !this.gone;
  }

  get gone(): boolean {
    return this.client.gone || !this.#socket.writable;
  }

  refusal(): TritonError | undefined {
    return this.#connection.refusal();
  }

  wrote(size: number): void {
    this.#connection.wrote(size);
  }

  left(size: number): void {
    this.#connection.left(size);
  }

  finish(): void {
    this.#bodies.release(this.#body);
    this.#body = 0;
  }

  sendError(error: unknown): void {
    const coded = asTritonError(error);
    const text = JSON.stringify({ error: coded.message });
    const size = String(Buffer.byteLength(text));
    const headers = ['Content-Type', 'application/json', 'Content-Length', size];
    if (coded.reason !== undefined) headers.push(reasonHeader, coded.reason);
    this.#send(httpStatus(coded), headers, text, []);
  }

  sendInfer({ json, blobs }: InferAnswer): void {
    const refusal = this.refusal();
    if (refusal !== undefined) {
      this.sendError(refusal);
      return;
    }
    const size = Buffer.byteLength(json);
    const total = blobs.reduce((sum, blob) => sum + blob.length, size);
    this.#send(200, inferHeaders(size, total, undefined), json, blobs);
  }

  #send(status: number, headers: readonly string[], text: string, blobs: readonly Buffer[]): void {
    if (this.open) {
      let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
      for (let i = 0; i + 1 < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
      head += `Date: ${date()}\r\n${this.#end.closing() ? 'Connection: close\r\n' : this.#end.keepAlive}\r\n`;
      try {
        this.#write(head + text, blobs);
      } catch (error) {
        this.#fail(error);
      }
    }
    this.finish();
  }

  /** Answers with an error that has prevented an answer, such as one without memory; ends the connection if that fails too. */
  #fail(error: unknown): void {
    if (this.#answered || this.#failed) {
      this.#answered = true;
      this.#socket.destroy();
    } else {
      this.#failed = true;
      this.sendError(error);
    }
  }

  /**
   * Writes the answer. A small one is one piece, which costs less than a list of pieces. An error before the first byte is
   * written leaves the request unanswered.
   */
  #write(text: string, blobs: readonly Buffer[]): void {
    const socket = this.#socket;
    const size = Buffer.byteLength(text);
    const total = blobs.reduce((sum, blob) => sum + blob.length, size);
    const left = (): void => {
      this.#connection.endPlain(total);
      dropMemoryOf(blobs);
    };
    if (total - size <= mostCopied) {
      const bytes = Buffer.allocUnsafe(total);
      // A text with as many bytes as characters is ASCII.
      bytes.write(text, size === text.length ? 'latin1' : 'utf8');
      let at = size;
      for (const blob of blobs) {
        bytes.set(blob, at);
        at += blob.length;
      }
      this.#wrote(total);
      socket.write(bytes, left);
    } else {
      const last = blobs.length - 1;
      this.#wrote(total);
      socket.cork();
      socket.write(text);
      for (const [i, blob] of blobs.entries()) socket.write(blob, i === last ? left : undefined);
      socket.uncork();
    }
    this.#end.answered();
  }

  #wrote(total: number): void {
    this.#answered = true;
    this.wrote(total);
  }
}
