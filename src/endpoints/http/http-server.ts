/** Listens for HTTP/1.1, with or without TLS, and closes without cutting off answers. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { TritonError } from '../../errors.js';
import type { Listening } from '../../listen.js';
import { thrownText } from '../../thrown-text.js';
import { longestTimerMs } from '../../time-limit.js';
import { Handshakes } from '../service/handshakes.js';
import { openEndpoint, type Endpoint } from '../service/life.js';
import type { Connection } from './connection.js';
import type { ErrorForm } from './error-form.js';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../../timers.js';

/** Checked options of how an endpoint listens. */
export interface HttpListenOptions extends Listening {
  readonly tls: TlsOptions | undefined;
  readonly requestTimeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Answers the requests of an endpoint. */
export interface HttpRequests {
  handle(request: IncomingMessage, response: ServerResponse, next: undefined): void;
  /** The state of a socket's connection. */
  connectionOf(socket: Socket): Connection;
}

/** The parts of an endpoint over HTTP. */
export interface HttpParts {
  /** The public function that opens the endpoint, for errors. */
  readonly caller: string;
  /** The protocol's name, for errors. */
  readonly what: string;
  readonly options: HttpListenOptions;
  readonly errors: ErrorForm;
  readonly handler: HttpRequests;
  /** Called before the server listens, and before its connections are watched. */
  readonly prepare?: ((http: Server) => void) | undefined;
  /** Called when the endpoint begins to close. */
  readonly onClosing: () => void;
}

/** How long an idle connection is kept: longer than clients keep theirs, so that the client closes it first. */
export const keepAliveMs = 75_000;

/**
 * Opens an endpoint.
 *
 * @throws {@link TritonError} INVALID_ARG for options that TLS does not accept, UNAVAILABLE if it cannot listen on the
 *   port, CANCELLED if the signal has already fired.
 */
export function openHttp({
  caller,
  what,
  options,
  errors,
  handler,
  prepare,
  onClosing,
}: HttpParts): Promise<Endpoint> {
  const connections = new Set<Connection>();
  const http = createHttpServer(options, (request, response) => {
    handler.handle(request, response, undefined);
  });
  prepare?.(http);
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
    else answerBroken(error, socket, errors);
  });
  http.on('timeout', (socket: Socket) => {
    // No byte came or left for this time. Other connections wait for their model, and are kept.
    if (socket.writableLength > 0 || handler.connectionOf(socket).idle) socket.destroy();
  });
  // A periodic check is cheaper than a timeout for each answer, as few clients leave answers unread.
  let sweep: NodeJS.Timeout | undefined;
  http.once('listening', () => {
    sweep = setInterval(() => {
      for (const connection of connections) connection.watch(options.requestTimeoutMs);
    }, options.requestTimeoutMs).unref();
  });
  http.once('close', () => {
    clearInterval(sweep);
  });
  const handshakes = options.tls === undefined ? undefined : new Handshakes(http);
  return openEndpoint({
    caller,
    what,
    server: http,
    listening: options,
    drain(timeoutMs) {
      onClosing();
      handshakes?.cut();
      return drain(http, connections, timeoutMs);
    },
  });
}

function createHttpServer(
  { tls, requestTimeoutMs }: HttpListenOptions,
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
export function answerBroken(error: Error & { code?: string }, socket: Socket, errors: ErrorForm): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = brokenStatuses[error.code ?? ''] ?? '400 Bad Request';
  const body = errors.text(`the request is not valid HTTP: ${error.message}`, Number(status.slice(0, 3)));
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
