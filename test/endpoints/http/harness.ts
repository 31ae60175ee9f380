/** Helpers of the HTTP tests: endpoints that close with their test, unmodified requests, raw sockets. */

import assert from 'node:assert/strict';
import { request, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { InferenceServer } from '../../../src/index.js';
import { serveHttp, type HttpEndpoint, type ServeHttpOptions } from '../../../src/endpoints/http/serve.js';
import type { Context } from '../../support/harness.js';

/** An endpoint of a server, which is closed after the test. */
export async function endpointOf(
  t: Context,
  server: InferenceServer,
  options: ServeHttpOptions = {},
): Promise<HttpEndpoint> {
  const endpoint = await serveHttp(server, { port: 0, ...options });
  t.after(() => endpoint.close({ timeoutMs: 0 }));
  return endpoint;
}

/** An answer. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
}

/** A request to send. */
export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** An object is sent as JSON. */
  readonly body?: Uint8Array | string | object;
}

function bytesOf(body: Ask['body']): Uint8Array | string {
  if (body === undefined) return '';
  return typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
}

/** Sends a request on a connection of its own. With a body, it is a POST. */
export function ask(
  { address }: Pick<HttpEndpoint, 'address'>,
  path: string,
  given: Ask = {},
): Promise<Answer> {
  const { body, method = body === undefined ? 'GET' : 'POST', headers } = given;
  return new Promise((resolve, reject) => {
    const { host, port } = address;
    const sent = request({ host, port, path, method, headers: { ...headers }, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const whole = Buffer.concat(chunks);
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: whole,
          text: whole.toString('utf8'),
        });
      });
    });
    sent.on('error', reject);
    sent.end(bytesOf(body));
  });
}

/** The JSON of an answer with status 200. */
export function json(answer: Answer): unknown {
  assert.equal(answer.status, 200, answer.text);
  return JSON.parse(answer.text);
}

/** The text of an answer's error, whose status must be this. */
export function errorOf(answer: Answer, status: number): string {
  assert.equal(answer.status, status, answer.text);
  const { error } = JSON.parse(answer.text) as { error?: unknown };
  assert.ok(typeof error === 'string' && error !== '', answer.text);
  return error;
}

/** A raw connection to an endpoint. */
export function open(t: Context, { address }: HttpEndpoint): Socket {
  const socket = connect(address.port, address.host);
  socket.on('error', () => undefined); // It may be cut off.
  t.after(() => {
    socket.destroy();
    return Promise.resolve();
  });
  return socket;
}

/** Sends raw bytes. Resolves with the received text when the other side closes, or when it matches `until`. */
export function exchange(
  t: Context,
  endpoint: HttpEndpoint,
  sent: string | Uint8Array,
  until?: RegExp,
): Promise<string> {
  const socket = open(t, endpoint);
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (until?.test(text) !== true) return;
      socket.destroy();
      resolve(text);
    });
    socket.on('close', () => {
      resolve(text);
    });
    socket.write(sent);
  });
}

/** The binary parts of an answer, one after the other, and its JSON. */
export function split(answer: Answer): { readonly head: Record<string, unknown>; readonly binary: Buffer } {
  assert.equal(answer.status, 200, answer.text);
  const size = Number(answer.headers['inference-header-content-length'] ?? answer.body.length);
  return {
    head: JSON.parse(answer.body.toString('utf8', 0, size)) as Record<string, unknown>,
    binary: answer.body.subarray(size),
  };
}

/** A body of JSON and binary data behind it, with its headers. */
export function binaryBody(
  head: object,
  ...blobs: readonly Uint8Array[]
): Required<Pick<Ask, 'body' | 'headers'>> {
  const text = Buffer.from(JSON.stringify(head));
  return {
    body: Buffer.concat([text, ...blobs]),
    headers: { 'Inference-Header-Content-Length': String(text.length) },
  };
}
