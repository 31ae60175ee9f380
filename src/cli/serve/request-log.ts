/** Logs each request over HTTP and gRPC when it has been answered, or when its client has left. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { callStarted, type StartedCall } from '../../endpoints/grpc/call-channel.js';

/** Node publishes this for all its HTTP servers; this process has only those of the endpoints. */
const requestStarted = 'http.server.request.start';

interface StartedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

function since(begun: number): string {
  return `${(performance.now() - begun).toFixed(3)} ms`;
}

function from(address: string | undefined): string {
  return `request from ${address ?? 'an unknown address'}`;
}

/** See the head of this file. */
export class RequestLog {
  readonly #say: (line: string) => void;
  #on = false;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  /** Starts or stops logging. */
  set(on: boolean): void {
    if (on === this.#on) return;
    this.#on = on;
    const change = on ? subscribe : unsubscribe;
    change(requestStarted, this.#onRequest);
    change(callStarted, this.#onCall);
  }

  readonly #onRequest = (message: unknown): void => {
    // Node's documentation describes this message.
    const { request, response } = message as StartedRequest;
    const begun = performance.now();
    response.once('close', () => {
      const { method = '', url = '', socket } = request;
      const outcome = response.writableFinished ? String(response.statusCode) : 'the client left';
      this.#say(`HTTP ${from(socket.remoteAddress)}: ${method} ${url}: ${outcome}, ${since(begun)}`);
    });
  };

  readonly #onCall = (message: unknown): void => {
    const { path, remoteAddress, whenEnded } = message as StartedCall;
    const begun = performance.now();
    whenEnded((status) => {
      const outcome = status === undefined ? 'the client left' : `status ${status}`;
      this.#say(`gRPC ${from(remoteAddress)}: ${path}: ${outcome}, ${since(begun)}`);
    });
  };
}
