/** Metrics over HTTP, for Prometheus: `tritonts/metrics`. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expected, readOptions } from '../argument-checks.js';
import { unavailable } from '../errors.js';
import { listenAdvice } from '../listen-advice.js';

/** What has metrics: an `InferenceServer`. */
export interface MetricsSource {
  /** Prometheus' text format, version 0.0.4. */
  metrics(): string;
  /** The same, made in slices of the event loop; used where it is there. */
  scrape?(): Promise<string>;
}

/** Options of {@link serveMetrics}. */
export interface ServeMetricsOptions {
  /** Where to listen (default 8002); 0: wherever there is room. Triton: `--metrics-port`. */
  readonly port?: number | undefined;
  /** On which address (default 127.0.0.1). Triton: `--metrics-address`. */
  readonly host?: string | undefined;
}

/** Where metrics are served. */
export interface MetricsEndpoint {
  /** The address that it listens on, and the port. */
  readonly address: { readonly host: string; readonly port: number };
  /** Stops to listen; resolves when the last answer is sent, or whoever asked has had 2 seconds to take it. Idempotent. */
  close(): Promise<void>;
}

/** How long answers that are under way have when the endpoint is closed, in milliseconds. */
const lastAnswersMs = 2000;

/** What Prometheus expects of the text. */
const contentType = 'text/plain; version=0.0.4; charset=utf-8';

function checkOptions(options: unknown): { port: number; host: string } {
  const known = ['port', 'host'] as const satisfies readonly (keyof ServeMetricsOptions)[];
  const { port = 8002, host = '127.0.0.1' } = readOptions<ServeMetricsOptions>(
    options,
    known,
    'metrics options',
  );
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 0 || port > 65535)
    throw expected('an integer from 0 to 65535', 'options.port', port);
  if (typeof host !== 'string' || host === '') throw expected('a host name or address', 'options.host', host);
  return { port, host };
}

/**
 * Serves a server's metrics at `GET /metrics`. As at Triton, other paths answer 200 with nothing in it, and other methods
 * 405; once the server is closed, /metrics answers 503.
 *
 * @param server - Whose metrics; it goes on when the endpoint is closed, and the endpoint when it is closed.
 * @returns The endpoint, which listens.
 * @throws {@link TritonError} INVALID_ARG for wrong options, UNAVAILABLE where the port cannot be had.
 *
 * @example
 * import { serveMetrics } from 'tritonts/metrics';
 * const endpoint = await serveMetrics(server, { port: 8002 });
 */
export async function serveMetrics(
  server: MetricsSource,
  options: ServeMetricsOptions = {},
): Promise<MetricsEndpoint> {
  if (typeof (server as Partial<MetricsSource> | null)?.metrics !== 'function')
    throw expected('a server', 'serveMetrics', server);
  const { port, host } = checkOptions(options);
  const turns = new Turns();
  const http = createServer((request, response) => {
    // Nobody reads what came with it.
    request.resume();
    turns.take(request.socket, response, () => {
      answer(request, response);
    });
  });
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.method !== 'GET') {
      response.writeHead(405, { Allow: 'GET' }).end();
    } else if (request.url?.split('?', 1)[0] !== '/metrics') {
      response.writeHead(200).end();
    } else {
      void textOf(server).then(([status, text]) => {
        // Whoever asked may be gone by now.
        if (!response.destroyed) response.writeHead(status, { 'Content-Type': contentType }).end(text);
      });
    }
  };
  await listen(http, port, host);
  // Not a pipe's name: it listens on a port.
  const bound = http.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  return {
    address: Object.freeze({ host: bound.address, port: bound.port }),
    close: () =>
      (closing ??= new Promise((resolve) => {
        // Somebody who sends half a request, or does not read the answer, would keep it open for ever.
        const timer = setTimeout(() => {
          http.closeAllConnections();
        }, lastAnswersMs);
        http.close(() => {
          clearTimeout(timer);
          resolve();
        });
        http.closeIdleConnections();
      })),
  };
}

/** With this number of requests without an answer, a connection is not read any further. */
const mostRequests = 64;

/** Answers the requests of each connection one by one: a text is made when the one before it has left. */
class Turns {
  readonly #lines: WeakMap<Socket, (() => void)[]> = new WeakMap();

  take(socket: Socket, response: ServerResponse, answer: () => void): void {
    const line = this.#lineOf(socket);
    response.once('close', () => {
      line.shift();
      if (socket.destroyed) return;
      if (line.length === mostRequests - 1) socket.resume();
      line[0]?.();
    });
    line.push(answer);
    if (line.length === 1) answer();
    else if (line.length >= mostRequests) socket.pause();
  }

  #lineOf(socket: Socket): (() => void)[] {
    const known = this.#lines.get(socket);
    if (known !== undefined) return known;
    const line: (() => void)[] = [];
    this.#lines.set(socket, line);
    // Node resumes it for the bodies of requests.
    socket.on('resume', () => {
      if (line.length >= mostRequests) socket.pause();
    });
    return line;
  }
}

async function textOf(server: MetricsSource): Promise<[number, string]> {
  try {
    return [200, server.scrape === undefined ? server.metrics() : await server.scrape()];
  } catch (error) {
    return [503, `${error instanceof Error ? error.message : String(error)}\n`];
  }
}

function listen(http: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // It stays: later errors, as of a connection that cannot be accepted, end neither the endpoint nor the process.
    http.on('error', (cause) => {
      reject(
        unavailable(
          'SYSTEM_REFUSED',
          `metrics cannot be served on ${host}, port ${port}: ${cause.message}${listenAdvice(cause)}`,
          { cause },
        ),
      );
    });
    http.listen(port, host, resolve);
  });
}
