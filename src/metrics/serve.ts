/** Serves metrics over HTTP, for Prometheus: `tritonts/metrics`. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expected, readOptions } from '../argument-checks.js';
import { listen } from '../listen.js';
import { clearTimeout, setTimeout } from '../timers.js';
import { contentType, scrapeText, type MetricsSource } from './scrape-text.js';
import { Turns } from './turns.js';

export type { MetricsSource } from './scrape-text.js';
export { serveTop } from './serve-top.js';
export type { ServeTopOptions, TopEndpoint, TopServer } from './serve-top.js';

/** Options of {@link serveMetrics}. */
export interface ServeMetricsOptions {
  /** The port to listen on (default 8002); 0: any free port. Triton: `--metrics-port`. */
  readonly port?: number | undefined;
  /** The address to listen on (default 127.0.0.1). Triton: `--metrics-address`. */
  readonly host?: string | undefined;
}

/** An endpoint that serves metrics. */
export interface MetricsEndpoint {
  /** The address and port that the endpoint listens on. */
  readonly address: { readonly host: string; readonly port: number };
  /** Stops listening. Resolves when the last answer was sent, at the latest after 2 seconds. Idempotent. */
  close(): Promise<void>;
}

/** How long answers under way may take when the endpoint is closed, in milliseconds. */
const lastAnswersMs = 2000;

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
 * Serves a server's metrics at `GET /metrics`. As in Triton, other paths are answered with an empty 200, and other
 * methods with 405. Once the server is closed, /metrics is answered with 503.
 *
 * @param server - The server with the metrics. Closing the endpoint or the server does not close the other one.
 * @returns The endpoint, already listening.
 * @throws {@link TritonError} INVALID_ARG for wrong options, UNAVAILABLE if the server is closed or the port
 *   cannot be listened on.
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
  // A closed server has none. Other sources need none.
  (server as { readonly metadata?: () => unknown }).metadata?.();
  const turns = new Turns();
  const http = createServer((request, response) => {
    // Discard the request's body.
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
      void scrapeText(server).then(([status, text]) => {
        // The client may have left by now.
        if (!response.destroyed) response.writeHead(status, { 'Content-Type': contentType }).end(text);
      });
    }
  };
  await listen('metrics', http, { port, host, reusePort: false });
  // The server listens on a port, so the address is not the name of a pipe.
  const bound = http.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  return {
    address: Object.freeze({ host: bound.address, port: bound.port }),
    close: () =>
      (closing ??= new Promise((resolve) => {
        // A client that sends half a request, or does not read its answer, must not keep the endpoint open.
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
