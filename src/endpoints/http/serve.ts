/** KServe v2 over HTTP: `tritonts/http`. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { expected } from '../../argument-checks.js';
import { TritonError } from '../../errors.js';
import type { InferenceServer } from '../../index.js';
import { openEndpoint } from '../service/life.js';
import { InferenceServer as ServerClass } from '../../server/inference-server.js';
import type { Connection } from './connection.js';
import { HttpHandler } from './handler.js';
import {
  checkHandlerOptions,
  checkServeOptions,
  type CheckedServeOptions,
  type HttpHandlerOptions,
  type ServeHttpOptions,
} from './options.js';

export type { HttpHandlerOptions, RestrictedCalls, ServeHttpOptions } from './options.js';
export type { RestrictedGroup } from './routes.js';

/** Options of {@link HttpEndpoint.close}. */
export interface HttpCloseOptions {
  /** How long answers that are under way may take, in milliseconds (default 30,000); 0 ends them now. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Where a server is served over HTTP.
 *
 * @example
 * const endpoint: HttpEndpoint = await serveHttp(server, { port: 0 });
 * console.log(endpoint.address.port);
 */
export interface HttpEndpoint extends AsyncDisposable {
  /** The address that it listens on, and the port. */
  readonly address: { readonly host: string; readonly port: number };
  /**
   * Stops to listen, and lets requests that are under way end within a time limit; then it cancels them. The server goes on.
   * Idempotent: the limit of the first call counts.
   *
   * @throws {@link TritonError} INVALID_ARG for wrong options.
   */
  close(options?: HttpCloseOptions): Promise<void>;
}

/**
 * A handler of requests: for `node:http`, for Express, or for whatever else hands these two over.
 *
 * @param next - Called for paths that are no call of the protocol; without it they are answered with 404.
 */
export type HttpRequestHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: () => void,
) => void;

function checkServer(server: unknown, caller: string): asserts server is InferenceServer {
  if (!(server instanceof ServerClass)) throw expected('an InferenceServer', caller, server);
}

/**
 * Makes a handler that answers KServe v2's calls, with Triton's extensions, in an HTTP server of the program's own. It has to
 * get bodies unread: put it before body parsers.
 *
 * @param server - Whose models. When it is closed, the calls are answered with 503.
 * @throws {@link TritonError} INVALID_ARG for wrong options.
 *
 * @example
 * import { httpHandler } from 'tritonts/http';
 * const app = express();
 * app.use(httpHandler(server)); // paths under /v2
 */
export function httpHandler(server: InferenceServer, options: HttpHandlerOptions = {}): HttpRequestHandler {
  checkServer(server, 'httpHandler');
  const handler = new HttpHandler(server, checkHandlerOptions(options), () => false, false);
  return (request, response, next) => {
    handler.handle(request, response, next);
  };
}

/**
 * Serves a server over HTTP/1.1 as Triton does: KServe v2 with the extensions for binary tensors, classification, generate,
 * statistics and model control. Triton's clients work unchanged. Requests that arrive together run in one batch; a client
 * that disconnects cancels its requests.
 *
 * @param server - Whose models. It goes on when the endpoint is closed; close the endpoint first.
 * @returns The endpoint, which listens.
 * @throws {@link TritonError} INVALID_ARG for wrong options, UNAVAILABLE where the port cannot be had, CANCELLED where the
 *   signal has fired before.
 *
 * @example
 * import { serveHttp } from 'tritonts/http';
 * const endpoint = await serveHttp(server, { port: 8000 });
 */
export async function serveHttp(
  server: InferenceServer,
  options: ServeHttpOptions = {},
): Promise<HttpEndpoint> {
  checkServer(server, 'serveHttp');
  const checked = checkServeOptions(options);
  let closing = false;
  const handler = new HttpHandler(server, checked, () => closing, true);
  const connections = new Set<Connection>();
  const http = createHttpServer(checked, (request, response) => {
    handler.handle(request, response, undefined);
  });
  const onConnection = (socket: Socket): void => {
    const connection = handler.connectionOf(socket);
    connections.add(connection);
    socket.once('close', () => connections.delete(connection));
  };
  http.on('connection', onConnection).on('secureConnection', onConnection);
  http.on('clientError', (error: Error & { code?: string }, stream) => {
    // Those of an HTTP server are.
    const socket = stream as Socket;
    const connection = handler.connectionOf(socket);
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && connection.paused) return;
    // Its bytes would come before, or in the midst of, those of another answer.
    if (connection.answering) socket.destroy();
    else answerBroken(error, socket);
  });
  http.on('timeout', (socket: Socket) => {
    // Nothing came or left for so long. Others than these wait for their model.
    if (socket.writableLength > 0 || handler.connectionOf(socket).idle) socket.destroy();
  });
  // To watch every answer would cost each something, and few clients leave theirs unread.
  let sweep: NodeJS.Timeout | undefined;
  http.once('listening', () => {
    sweep = setInterval(() => {
      for (const connection of connections) connection.watch(checked.requestTimeoutMs);
    }, checked.requestTimeoutMs).unref();
  });
  http.once('close', () => {
    clearInterval(sweep);
  });
  return openEndpoint({
    caller: 'serveHttp',
    what: 'HTTP',
    server: http,
    listening: checked,
    drain(timeoutMs) {
      closing = true;
      return drain(http, connections, timeoutMs);
    },
  });
}

/** How long an idle connection is kept. Longer than clients keep theirs, so that it is they who close it. */
const keepAliveMs = 75_000;

function createHttpServer(
  { tls, requestTimeoutMs }: CheckedServeOptions,
  listener: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const options = {
    keepAliveTimeout: keepAliveMs,
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(requestTimeoutMs, 60_000),
    // How often Node looks for requests that take too long.
    connectionsCheckingInterval: Math.min(requestTimeoutMs, 10_000),
  };
  if (tls === undefined) return createServer(options, listener);
  try {
    return createTlsServer({ ...tls, ...options }, listener);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TritonError('INVALID_ARG', `options.tls cannot be used: ${why}`, { cause });
  }
}

/** What Node's parser says, by its codes; everything else is 400. */
const brokenStatuses: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Answers what is no HTTP. After it nothing on the connection can be trusted, so that ends. */
function answerBroken(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = brokenStatuses[error.code ?? ''] ?? '400 Bad Request';
  const body = JSON.stringify({ error: `the request is not valid HTTP: ${error.message}` });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    () => {
      socket.destroy();
    },
  );
}

function drain(http: Server, connections: ReadonlySet<Connection>, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    // 2^31 - 1 is the longest that a timer takes.
    const timer = setTimeout(
      () => {
        // Those in their TLS handshake, too, of which `closeAllConnections` does not know.
        for (const connection of connections) connection.destroy();
      },
      Math.min(timeoutMs, 2 ** 31 - 1),
    );
    // Node's, which close() calls, cuts off answers that were handed over and have not left yet.
    http.closeIdleConnections = () => {
      for (const connection of connections) connection.endSoon();
    };
    http.close(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
