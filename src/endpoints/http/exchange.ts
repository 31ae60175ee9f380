/** A request and its answer. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TritonError } from '../../errors.js';
import type { Client } from '../service/client.js';
import { asTritonError, httpStatus, reasonHeader } from '../../protocol/statuses.js';
import type { InferAnswer } from './infer-response.js';
import type { BodyReader } from './body.js';
import { compress, type Encoding } from './compression.js';
import { dropMemoryOf } from './output-memory.js';
import type { Connection } from './connection.js';

/** Headers as names and values in turn. */
type HeaderList = string[];

/** See the head of this file. It is answered once; what comes later, or when the client has gone, is dropped. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly client: Client;
  readonly #connection: Connection;
  /** Whether the endpoint is closing, so that the connection ends with this answer. */
  readonly #closing: () => boolean;
  /** Whether nobody else has a hand in the response, who could read what was written to it later. */
  readonly #owned: boolean;
  /** Bytes of the answer that were counted. */
  #answerBytes = 0;
  /** The request's body, and whose it is. */
  #body: Buffer | undefined;
  #bodies: BodyReader | undefined;
  #more: (() => readonly string[]) | undefined;
  /** What the answer consists of, if its memory is freed when it was sent. */
  #sent: readonly Buffer[] | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    connection: Connection,
    closing: () => boolean,
    owned: boolean,
  ) {
    this.request = request;
    this.response = response;
    this.client = connection.client;
    this.#connection = connection;
    this.#closing = closing;
    this.#owned = owned;
    connection.begin(request, response);
    response.on('close', () => {
      connection.end(this.#answerBytes);
      if (this.#sent !== undefined) dropMemoryOf(this.#sent);
    });
  }

  /** Its body counts until it is answered, or cannot be any more. */
  holds(bodies: BodyReader, body: Buffer): void {
    this.#bodies = bodies;
    this.#body = body;
  }

  /** It needs no answer any more, or has one. */
  finish(): void {
    if (this.#body !== undefined) this.#bodies?.giveBack(this.#body);
    this.#body = undefined;
  }

  /** Whether an answer would be heard, which had none before. */
  get open(): boolean {
    return !this.client.gone && !this.response.headersSent && !this.response.destroyed;
  }

  /** Counts bytes of the answer that wait for the client to read them. */
  wrote(size: number): void {
    this.#answerBytes += size;
    this.#connection.wrote(size);
  }

  /** Counted bytes have been read. */
  left(size: number): void {
    this.#answerBytes -= size;
    this.#connection.left(size);
  }

  /** The answer has these headers, too; they are asked for when it begins. */
  adds(headers: () => readonly string[]): void {
    this.#more = headers;
  }

  /** Writes status and headers. Returns whether an answer may follow. */
  head(status: number, headers: HeaderList): boolean {
    if (!this.open) return false;
    if (this.#closing()) headers.push('Connection', 'close');
    if (this.#more !== undefined) headers.push(...this.#more());
    this.response.writeHead(status, headers);
    return true;
  }

  sendEmpty(status: number): void {
    if (this.head(status, ['Content-Length', '0'])) this.response.end();
    this.finish();
  }

  sendJson(status: number, text: string, more: HeaderList = []): void {
    if (this.#mayAnswer()) this.#sendText(status, text, more);
  }

  /** Answers with an error's text, and the status of its code or another one. */
  sendError(error: unknown, status?: number, more: HeaderList = []): void {
    const coded = asTritonError(error);
    const headers = coded.reason === undefined ? more : [...more, reasonHeader, coded.reason];
    this.#sendText(status ?? httpStatus(coded), JSON.stringify({ error: coded.message }), headers);
  }

  /** Answers what is no call, or must not be made. Node throws a body away. */
  refuse(status: number, text: string, headers: HeaderList = []): void {
    this.request.resume();
    this.#sendText(status, JSON.stringify({ error: text }), headers);
  }

  /** Why no answer must be made, as clients read too little; undefined where one may. */
  refusal(): TritonError | undefined {
    return this.#connection.refusal();
  }

  #sendText(status: number, text: string, more: HeaderList): void {
    const size = Buffer.byteLength(text);
    if (this.head(status, ['Content-Type', 'application/json', 'Content-Length', String(size), ...more])) {
      this.wrote(size);
      // As many bytes as characters are ASCII, which Node writes faster if it knows.
      this.response.end(text, size === text.length ? 'latin1' : 'utf8');
    }
    this.finish();
  }

  /** Where clients read too little, that is the answer. */
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
      // It counts as it is also while it waits to be compressed.
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
      // One system call for all parts, which go to the socket as they are.
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

function inferHeaders(json: number, total: number, compressed: number | undefined): HeaderList {
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
