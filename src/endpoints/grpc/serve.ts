/** KServe v2 over gRPC: `tritonts/grpc`. */

import type { Server } from 'node:net';
import { expected } from '../../argument-checks.js';
import type { InferenceServer } from '../../index.js';
import { checkCodeFromStrings } from '../../protocol/protobuf/library.js';
import { longestTimerMs } from '../../time-limit.js';
import { openEndpoint } from '../service/life.js';
import { InferenceServer as ServerClass } from '../../server/inference-server.js';
import { Connections } from './connections.js';
import { GrpcHandler } from './handler.js';
import { createHttp2Server } from './http2/server.js';
import { checkGrpcOptions, type ServeGrpcOptions } from './options.js';
import { clearTimeout, setTimeout } from '../../timers.js';

export type { GrpcRestrictedGroup } from './methods.js';
export type { RestrictedRpcs, ServeGrpcOptions } from './options.js';

/** Options of {@link GrpcEndpoint.close}. */
export interface GrpcCloseOptions {
  /** How long calls under way may go on, in milliseconds (default 30,000); 0 ends them now. */
  readonly timeoutMs?: number | undefined;
}

/**
 * A gRPC endpoint of a server.
 *
 * @example
 * const endpoint: GrpcEndpoint = await serveGrpc(server, { port: 0 });
 * console.log(endpoint.address.port);
 */
export interface GrpcEndpoint extends AsyncDisposable {
  /** The address and port that the endpoint listens on. */
  readonly address: { readonly host: string; readonly port: number };
  /**
   * Stops listening and sends GOAWAY to clients. Calls under way may end within a time limit; then they are
   * cancelled. The server itself goes on. Idempotent: the limit of the first call counts.
   *
   * @throws {@link TritonError} INVALID_ARG for wrong options.
   */
  close(options?: GrpcCloseOptions): Promise<void>;
}

/**
 * Serves a server over gRPC as Triton does: `inference.GRPCInferenceService` with ModelStreamInfer and Triton's
 * extensions, the health service and server reflection. Triton's clients work unchanged. Requests that arrive
 * together run in one batch; a client that cancels a call, or whose deadline passes, cancels its request.
 *
 * @param server - The server to serve. It goes on when the endpoint is closed; close the endpoint first.
 * @returns The endpoint, already listening.
 * @throws {@link TritonError} INVALID_ARG for wrong options, UNAVAILABLE if the server is closed or the port cannot be
 *   listened on, CANCELLED if the signal has already fired, UNSUPPORTED if Node disallows code generation from strings.
 *
 * @example
 * import { serveGrpc } from 'tritonts/grpc';
 * const endpoint = await serveGrpc(server, { port: 8001 });
 */
export async function serveGrpc(
  server: InferenceServer,
  options: ServeGrpcOptions = {},
): Promise<GrpcEndpoint> {
  if (!((server as unknown) instanceof ServerClass))
    throw expected('an InferenceServer', 'serveGrpc', server);
  checkCodeFromStrings('serveGrpc');
  const checked = checkGrpcOptions(options);
  // A closed server has none.
  server.metadata();
  let closing = false;
  const handler = new GrpcHandler(server, checked, () => closing);
  const connections = new Connections(checked, handler);
  const http = createHttp2Server(checked.tls, connections.accept);
  connections.watch(http);
  return openEndpoint({
    caller: 'serveGrpc',
    what: 'gRPC',
    server: http,
    listening: checked,
    drain(timeoutMs) {
      closing = true;
      return drain(http, connections, timeoutMs);
    },
  });
}

function drain(http: Server, connections: Connections, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      connections.destroy();
    };
    const timer = setTimeout(end, Math.min(timeoutMs, longestTimerMs));
    http.close(() => {
      clearTimeout(timer);
      resolve();
    });
    connections.drain();
  });
}
