/** A request and its answer. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TritonError } from '../../errors.js';
import type { FrontTrace } from '../service/front-trace.js';
import type { Client } from '../service/client.js';
import { asTritonError, reasonHeader } from '../../protocol/statuses.js';
import type { InferAnswer } from './infer-response.js';
import type { BodyReader } from './body.js';
import { answerEncoding, compress, type Encoding } from './compression.js';
import type { InferExchange } from './infer-exchange.js';
import { tritonErrors, type ErrorForm } from './error-form.js';
import { dropMemoryOf } from './output-memory.js';
import type { Connection } from './connection.js';

/** Headers as names and values in turn. */
type HeaderList = string[];

/**
 * See the head of this file. A request is answered once. Later answers, or answers to a client that left, are
 * dropped.
 */
export class Exchange implements InferExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly client: Client;
  /** The trace of the request; undefined: requests are not traced. */
  trace: FrontTrace | undefined;
  readonly #connection: Connection;
  /** Whether the endpoint is closing, so that the connection ends with this answer. */
  readonly #closing: () => boolean;
  /** Whether only this endpoint has the response, so that no other code can read the written buffers later. */
  readonly #owned: boolean;
  readonly #errors: ErrorForm;
  /** Bytes of the answer that were counted. */
  #answerBytes = 0;
  /** The request's body, and the reader that counts it. */
  #body: Buffer | undefined;
  #bodies: BodyReader | undefined;
  #more: (() => readonly string[]) | undefined;
  /** The outputs of the answer, if their memory is to be freed when the answer was sent. */
  #sent: readonly Buffer[] | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    connection: Connection,
    closing: () => boolean,
    owned: boolean,
    errors: ErrorForm = tritonErrors,
  ) {
    this.request = request;
    this.response = response;
    this.client = connection.client;
    this.#connection = connection;
    this.#closing = closing;
    this.#owned = owned;
    this.#errors = errors;
    connection.begin(request, response);
    response.on('close', () => {
      this.#endTrace();
      connection.end(this.#answerBytes);
      if (this.#sent !== undefined) dropMemoryOf(this.#sent);
    });
  }

  /** Takes over the body, which is counted until the request is answered or can no longer be answered. */
  holds(bodies: BodyReader, body: Buffer): void {
    this.#bodies = bodies;
    this.#body = body;
  }

  /** Releases the body. The request was answered, or can no longer be answered. */
  finish(): void {
    if (this.#body !== undefined) this.#bodies?.giveBack(this.#body);
    this.#body = undefined;
  }

  get rawHeaders(): readonly string[] {
    return this.request.rawHeaders;
  }

  get encoding(): Encoding {
    return answerEncoding(this.request.headers['accept-encoding']);
  }

  get gone(): boolean {
    return this.client.gone || this.response.destroyed;
  }

  /** Whether the request was not answered yet, and its client is still connected. */
  get open(): boolean {
    return !this.gone && !this.response.headersSent;
  }

  /** Counts bytes of the answer as waiting for the client. */
  wrote(size: number): void {
    this.#answerBytes += size;
    this.#connection.wrote(size);
  }

  /** Stops counting bytes, because the client has read them. */
  left(size: number): void {
    this.#answerBytes -= size;
    this.#connection.left(size);
  }

  /** Adds headers to the answer. `headers` is called when the answer begins. */
  adds(headers: () => readonly string[]): void {
    this.#more = headers;
  }

  /** Writes status and headers. Returns whether an answer may follow. */
  head(status: number, headers: HeaderList): boolean {
    if (!this.open) return false;
    if (this.#closing()) headers.push('Connection', 'close');
    if (this.#more !== undefined) headers.push(...this.#more());
    this.trace?.note('HTTP_SEND_START');
    this.response.writeHead(status, headers);
    return true;
  }

  #endTrace(): void {
    const { trace } = this;
    if (trace === undefined) return;
    if (this.response.writableFinished) trace.note('HTTP_SEND_END');
    trace.end();
  }

  sendEmpty(status: number): void {
    if (this.head(status, ['Content-Length', '0'])) this.response.end();
    this.finish();
  }

  sendJson(status: number, text: string, more: HeaderList = []): void {
    if (this.#mayAnswer()) this.#sendText(status, text, more);
  }

  /** Answers with an error's text, and with `status`, or the status of the error's code. */
  sendError(error: unknown, status?: number, more: HeaderList = []): void {
    const coded = asTritonError(error);
    const headers = coded.reason === undefined ? more : [...more, reasonHeader, coded.reason];
    const answered = status ?? this.#errors.status(coded);
    this.#sendText(answered, this.#errors.text(coded.message, answered, coded), headers);
  }

  /** Answers a request that is not a call, or is not allowed. Its body is discarded. */
  refuse(status: number, text: string, headers: HeaderList = []): void {
    this.request.resume();
    this.#sendText(status, this.#errors.text(text, status), headers);
  }

  /** The error if no answer may be made, because clients read too slowly; undefined if it may. */
  refusal(): TritonError | undefined {
    return this.#connection.refusal();
  }

  #sendText(status: number, text: string, more: HeaderList): void {
    const size = Buffer.byteLength(text);
    if (this.head(status, ['Content-Type', 'application/json', 'Content-Length', String(size), ...more])) {
      this.wrote(size);
      // A text with as many bytes as characters is ASCII. Node writes it faster as Latin-1.
      this.response.end(text, size === text.length ? 'latin1' : 'utf8');
    }
    this.finish();
  }

  /** Whether an answer may be made. If clients read too slowly, answers with that error and returns false. */
  #mayAnswer(): boolean {
    const refusal = this.refusal();
    if (refusal !== undefined) this.sendError(refusal);
    return refusal === undefined;
  }

  sendInfer({ json, blobs }: InferAnswer, encoding: Encoding): void {
    if (!this.#mayAnswer()) return;
    if (encoding === 'identity' && blobs.length === 0) {
      this.#sendText(200, json, []);
      return;
    }
    const size = Buffer.byteLength(json);
    const total = blobs.reduce((sum, blob) => sum + blob.length, size);
    if (encoding !== 'identity') {
      // Count the plain size while the answer waits for compression.
      this.wrote(total);
      const parts = [Buffer.from(json), ...blobs];
      compress(encoding, parts, (bytes) => {
        const headers = inferHeaders(size, total, bytes?.length);
        if (bytes !== undefined) headers.push('Content-Encoding', encoding);
        if (this.head(200, headers)) this.response.end(bytes ?? Buffer.concat(parts));
        this.finish();
      });
      return;
    }
    if (this.head(200, inferHeaders(size, total, undefined))) {
      this.wrote(total);
      const { response } = this;
      // Corking makes one system call for all parts, without a copy.
      response.cork();
      response.write(json);
      for (const blob of blobs) response.write(blob);
      if (this.#owned) this.#sent = blobs;
      response.end();
      response.uncork();
    }
    this.finish();
  }
}

/** The headers of an answer with outputs, as names and values in turn. */
export function inferHeaders(json: number, total: number, compressed: number | undefined): HeaderList {
  const length = String(compressed ?? total);
  if (total === json) return ['Content-Type', 'application/json', 'Content-Length', length];
  return [
    'Content-Type',
    'application/octet-stream',
    'Inference-Header-Content-Length',
    String(json),
    'Content-Length',
    length,
  ];
}
