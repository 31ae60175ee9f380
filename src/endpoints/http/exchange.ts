/** A request and its answer. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Client } from '../service/client.js';
import { asTritonError, httpStatus } from '../service/statuses.js';
import type { InferAnswer } from './infer-response.js';
import { compress, type Encoding } from './compression.js';
import type { Route } from './routes.js';

/** Headers as names and values in turn. */
type HeaderList = string[];

/** See the head of this file. It is answered once; what comes later, or when the client has gone, is dropped. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly route: Route;
  readonly client: Client;
  /** Whether the endpoint is closing, so that the connection ends with this answer. */
  readonly #closing: () => boolean;
  #done: (() => void) | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    route: Route,
    client: Client,
    closing: () => boolean,
  ) {
    this.request = request;
    this.response = response;
    this.route = route;
    this.client = client;
    this.#closing = closing;
  }

  /** Calls `done` when it is answered, or cannot be any more. */
  whenDone(done: () => void): void {
    this.#done = done;
  }

  /** It needs no answer any more, or has one. */
  finish(): void {
    const done = this.#done;
    this.#done = undefined;
    done?.();
  }

  /** Whether an answer would be heard, which had none before. */
  get open(): boolean {
    return !this.client.gone && !this.response.headersSent && !this.response.destroyed;
  }

  /** Writes status and headers. Returns whether an answer may follow. */
  head(status: number, headers: HeaderList): boolean {
    if (!this.open) return false;
    if (this.#closing()) headers.push('Connection', 'close');
    this.response.writeHead(status, headers);
    return true;
  }

  sendEmpty(status: number): void {
    if (this.head(status, ['Content-Length', '0'])) this.response.end();
    this.finish();
  }

  sendJson(status: number, text: string, more: HeaderList = []): void {
    const length = String(Buffer.byteLength(text));
    if (this.head(status, ['Content-Type', 'application/json', 'Content-Length', length, ...more]))
      this.response.end(text);
    this.finish();
  }

  /** Answers with an error's text, and the status of its code or another one. */
  sendError(error: unknown, status?: number, more: HeaderList = []): void {
    const { code, message } = asTritonError(error);
    this.sendJson(status ?? httpStatus(code), JSON.stringify({ error: message }), more);
  }

  sendInfer({ json, blobs }: InferAnswer, encoding: Encoding): void {
    if (encoding !== 'identity') {
      const parts = [Buffer.from(json), ...blobs];
      compress(encoding, parts, (bytes) => {
        const headers = this.#inferHeaders(json, blobs, bytes?.length);
        if (bytes !== undefined) headers.push('Content-Encoding', encoding);
        if (this.head(200, headers)) this.response.end(bytes ?? Buffer.concat(parts));
        this.finish();
      });
      return;
    }
    if (this.head(200, this.#inferHeaders(json, blobs, undefined))) {
      const { response } = this;
      if (blobs.length === 0) response.end(json);
      else {
        // One system call for all parts, which go to the socket as they are.
        response.cork();
        response.write(json);
        for (const blob of blobs) response.write(blob);
        response.end();
        response.uncork();
      }
    }
    this.finish();
  }

  #inferHeaders(json: string, blobs: readonly Buffer[], compressed: number | undefined): HeaderList {
    const size = Buffer.byteLength(json);
    if (blobs.length === 0)
      return ['Content-Type', 'application/json', 'Content-Length', String(compressed ?? size)];
    const total = blobs.reduce((sum, blob) => sum + blob.length, size);
    return [
      'Content-Type',
      'application/octet-stream',
      'Inference-Header-Content-Length',
      String(size),
      'Content-Length',
      String(compressed ?? total),
    ];
  }
}
