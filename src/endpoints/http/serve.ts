/** KServe v2 over HTTP: `tritonts/http`. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { channel } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { expected } from '../../argument-checks.js';
import type { InferenceServer } from '../../index.js';
import { InferenceServer as ServerClass } from '../../server/inference-server.js';
import { tritonErrors } from './error-form.js';
import { HttpHandler } from './handler.js';
import { answerBroken, keepAliveMs, openHttp, type HttpRequests } from './http-server.js';
import { PlainConnection, type PlainAnswers } from './plain-connection.js';
import {
  checkHandlerOptions,
  checkServeOptions,
  type CheckedHandlerOptions,
  type HttpHandlerOptions,
  type ServeHttpOptions,
} from './options.js';
import { GroupAccess } from '../service/access.js';
import { UiHandler } from '../ui/ui-handler.js';
import { clearInterval, setInterval } from '../../timers.js';

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
 * Makes a handler that serves a web page which shows the server: its models, charts, loads, and a form for requests. The
 * page is at `/ui/`, and needs nothing but the paths below. Its data and requests have the checks of `restricted`, whose
 * groups `ui`, `metadata`, `statistics`, `model-repository`, `model-config` and `inference` concern it. docs/ui.md.
 *
 * @param server - The server to show.
 * @param options - As for {@link httpHandler}; give both the same `restricted`.
 * @throws {@link TritonError} INVALID_ARG for wrong options.
 *
 * @example
 * import { httpHandler, uiHandler } from 'tritonts/http';
 * app.use(uiHandler(server)); // paths under /ui
 * app.use(httpHandler(server)); // paths under /v2
 */
export function uiHandler(server: InferenceServer, options: HttpHandlerOptions = {}): HttpRequestHandler {
  checkServer(server, 'uiHandler');
  const checked = checkHandlerOptions(options);
  const ui = uiOf(server, checked, new HttpHandler(server, checked, () => false, false));
  return (request, response, next) => {
    if (ui.handle(request, response)) return;
    if (next !== undefined) next();
    else response.writeHead(404).end();
  };
}

function uiOf(
  server: InferenceServer,
  { restricted }: CheckedHandlerOptions,
  handler: HttpHandler,
): UiHandler {
  return new UiHandler(server, new GroupAccess(restricted), (request, response, streams) => {
    handler.handle(request, response, undefined, streams);
  });
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
  const isClosing = (): boolean => closing;
  const handler = new HttpHandler(server, checked, isClosing, true);
  const ui = checked.ui ? uiOf(server, checked, handler) : undefined;
  const requests: HttpRequests =
    ui === undefined
      ? handler
      : {
          handle(request, response, next) {
            if (!ui.handle(request, response)) handler.handle(request, response, next);
          },
          connectionOf: (socket) => handler.connectionOf(socket),
        };
  const sweepMs = Math.min(mostSweepMs, Math.ceil(checked.requestTimeoutMs / 4));
  let plainSweep: NodeJS.Timeout | undefined;
  return openHttp({
    caller: 'serveHttp',
    what: 'HTTP',
    options: checked,
    errors: tritonErrors,
    handler: requests,
    prepare(http) {
      const sweep = checked.tls === undefined ? beginPlain(http, handler, sweepMs, isClosing) : undefined;
      if (sweep === undefined) return;
      http.once('listening', () => {
        plainSweep = setInterval(sweep, sweepMs).unref();
      });
      http.once('close', () => {
        clearInterval(plainSweep);
      });
    },
    onClosing() {
      closing = true;
    },
  });
}

/** How often connections with plain requests are checked. */
const mostSweepMs = 1000;
/** Node publishes these for each request. Plain requests have no objects to publish. */
const observed = ['request.start', 'response.created', 'response.finish'].map((name) =>
  channel(`http.server.${name}`),
);

/** Whether a subscriber, or instrumentation that has replaced `emit`, sees each request. Then all requests are Node's. */
function isObserved(http: Server): boolean {
  for (const one of observed) if (one.hasSubscribers) return true;
  return http.emit !== EventEmitter.prototype.emit;
}

/** Lets connections begin with plain requests. Returns a function that is to be called every `sweepMs`. */
function beginPlain(http: Server, handler: HttpHandler, sweepMs: number, closing: () => boolean): () => void {
  const [toNode] = http.listeners('connection');
  const connections = new Set<PlainConnection>();
  const answers: PlainAnswers = {
    plain: () => handler.plain && !isObserved(http),
    head: (text) => handler.plainHead(text),
    answer: (socket, head, body, end) => {
      handler.handlePlain(socket, head, body, end);
    },
    arriving: (socket) => {
      handler.connectionOf(socket).arriving();
    },
    handOver: (socket) => {
      toNode?.call(http, socket);
    },
    broken: (socket) => {
      answerBroken(new Error('the connection ended inside the request'), socket, tritonErrors);
    },
    timedOut: (socket) => http.emit('timeout', socket),
    closing,
    keepAlive: `Connection: keep-alive\r\nKeep-Alive: timeout=${keepAliveMs / 1000}\r\n`,
  };
  http.removeAllListeners('connection');
  http.on('connection', (socket: Socket) => {
    const connection = new PlainConnection(socket, answers);
    connections.add(connection);
    socket.once('close', () => connections.delete(connection));
  });
  const mostIdle = Math.ceil(keepAliveMs / sweepMs);
  return () => {
    for (const connection of connections) connection.sweep(mostIdle);
  };
}
