/** KServe v2 over HTTP: `tritonts/http`. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { expected } from '../../argument-checks.js';
import { TritonError } from '../../errors.js';
import type { InferenceServer } from '../../index.js';
import { longestTimerMs } from '../../time-limit.js';
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
import { thrownText } from '../../thrown-text.js';

export type { HttpHandlerOptions, RestrictedCalls, ServeHttpOptions } from './options.js';
export type { RestrictedGroup } from './routes.js';

/** Options of {@link HttpEndpoint.close}. */
export interface HttpCloseOptions {
  /** How long requests under way may take, in milliseconds (default 30,000); 0 ends them now. */
  readonly timeoutMs?: number | undefined;
}

/**
 * An HTTP endpoint of a server.
 *
 * @example
 * const endpoint: HttpEndpoint = await serveHttp(server, { port: 0 });
 * console.log(endpoint.address.port);
 */
export interface HttpEndpoint extends AsyncDisposable {
  /** The address and port that the endpoint listens on. */
  readonly address: { readonly host: string; readonly port: number };
  /**
   * Stops listening. Requests under way may end within a time limit; then they are cancelled. The server itself
   * goes on. Idempotent: the limit of the first call counts.
   *
   * @throws {@link TritonError} INVALID_ARG for wrong options.
   */
  close(options?: HttpCloseOptions): Promise<void>;
}

/**
 * A handler of requests, for `node:http`, Express, and other frameworks that pass Node's request and response.
 *
 * @param next - Called for paths that are not a call of the protocol; without it they are answered with 404.
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
 * Makes a handler that answers KServe v2's calls, with Triton's extensions, in the program's own HTTP server. Put
 * it before body parsers, because it reads the bodies itself.
 *
 * @param server - The server to serve. When it is closed, the calls are answered with 503.
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
 * Serves a server over HTTP/1.1 as Triton does: KServe v2 with the extensions for binary tensors, classification,
 * generate, statistics and model control. Triton's clients work unchanged. Requests that arrive together run in one
 * batch; a client that disconnects cancels its requests.
 *
 * @param server - The server to serve. It goes on when the endpoint is closed; close the endpoint first.
 * @returns The endpoint, already listening.
 * @throws {@link TritonError} INVALID_ARG for wrong options, UNAVAILABLE if the server is closed or the port cannot be
 *   listened on, CANCELLED if the signal has already fired.
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
  // A closed server has none.
  server.metadata();
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
    // The streams of an HTTP server are sockets.
    const socket = stream as Socket;
    const connection = handler.connectionOf(socket);
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && connection.paused) return;
    // An answer now would be sent before or inside another answer.
    if (connection.answering) socket.destroy();
    else answerBroken(error, socket);
  });
  http.on('timeout', (socket: Socket) => {
    // No byte came or left for this time. Other connections wait for their model, and are kept.
    if (socket.writableLength > 0 || handler.connectionOf(socket).idle) socket.destroy();
  });
  // A periodic check is cheaper than a timeout for each answer, as few clients leave answers unread.
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

/** How long an idle connection is kept: longer than clients keep theirs, so that the client closes it first. */
const keepAliveMs = 75_000;

function createHttpServer(
  { tls, requestTimeoutMs }: CheckedServeOptions,
  listener: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const options = {
    keepAliveTimeout: keepAliveMs,
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(requestTimeoutMs, 60_000),
    // How often Node checks for requests that take too long.
    connectionsCheckingInterval: Math.min(requestTimeoutMs, 10_000),
  };
  if (tls === undefined) return createServer(options, listener);
  try {
    return createTlsServer({ ...tls, ...options }, listener);
  } catch (cause) {
    const why = thrownText(cause);
    throw new TritonError('INVALID_ARG', `options.tls cannot be used: ${why}`, { cause });
  }
}

/** Statuses by the code of the parser's error; other codes become 400. */
const brokenStatuses: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Answers bytes that are not HTTP, and ends the connection, because later bytes cannot be trusted. */
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
    const timer = setTimeout(
      () => {
        // Includes connections in their TLS handshake, which `closeAllConnections` misses.
        for (const connection of connections) connection.destroy();
      },
      Math.min(timeoutMs, longestTimerMs),
    );
    // close() calls this. Node's own version would cut off answers that have not left yet.
    http.closeIdleConnections = () => {
      for (const connection of connections) connection.endSoon();
    };
    http.close(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
