/** Starts the endpoints of a server, and ends them. Each is an entry of one list. */

import { lazy } from '../../lazy.js';
import type { InferenceServer } from '../../server/inference-server.js';
import { grpcOptions } from './grpc-settings.js';
import type { Log } from './log.js';
import type { ServeSettings } from './settings.js';

/** An endpoint that listens. */
export interface Endpoint {
  close(timeoutMs: number): Promise<void>;
}

/** Starts an endpoint, and says where it listens; undefined where it is not to be served. */
type Starter = (server: InferenceServer, settings: ServeSettings, log: Log) => Promise<Endpoint | undefined>;

const grpcModule = lazy(() => import('../../endpoints/grpc/serve.js'));
const httpModule = lazy(() => import('../../endpoints/http/serve.js'));
const metricsModule = lazy(() => import('../../metrics/serve.js'));

/** Begins to import what the endpoints need, which takes a while, in which models are loaded. */
export function prepareEndpoints({ grpc, http, metrics }: ServeSettings): void {
  const nothing = (): void => undefined; // It is told of where it is used.
  if (grpc !== undefined) grpcModule().catch(nothing);
  if (http !== undefined) httpModule().catch(nothing);
  if (metrics !== undefined) metricsModule().catch(nothing);
}

async function startHttp(
  server: InferenceServer,
  { http }: ServeSettings,
  log: Log,
): Promise<Endpoint | undefined> {
  if (http === undefined) return undefined;
  const { serveHttp } = await httpModule();
  const endpoint = await serveHttp(server, http);
  log.info(`Started HTTPService at ${place(endpoint.address)}`);
  return { close: (timeoutMs) => endpoint.close({ timeoutMs }) };
}

async function startGrpc(
  server: InferenceServer,
  { grpc }: ServeSettings,
  log: Log,
): Promise<Endpoint | undefined> {
  if (grpc === undefined) return undefined;
  const { serveGrpc } = await grpcModule();
  const endpoint = await serveGrpc(server, await grpcOptions(grpc));
  log.info(`Started GRPCInferenceService at ${place(endpoint.address)}`);
  return { close: (timeoutMs) => endpoint.close({ timeoutMs }) };
}

async function startMetrics(
  server: InferenceServer,
  { metrics }: ServeSettings,
  log: Log,
): Promise<Endpoint | undefined> {
  if (metrics === undefined) return undefined;
  const { serveMetrics } = await metricsModule();
  const endpoint = await serveMetrics(server, metrics);
  log.info(`Started Metrics Service at ${place(endpoint.address)}`);
  return { close: () => endpoint.close() };
}

const starters: readonly Starter[] = [startGrpc, startHttp, startMetrics];

function place({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * Starts all endpoints that are to be served.
 *
 * @throws {@link TritonError} UNAVAILABLE where one cannot listen; none does then.
 */
export async function startEndpoints(
  server: InferenceServer,
  settings: ServeSettings,
  log: Log,
): Promise<readonly Endpoint[]> {
  const started: Endpoint[] = [];
  try {
    for (const start of starters) {
      const endpoint = await start(server, settings, log);
      if (endpoint !== undefined) started.push(endpoint);
    }
    return started;
  } catch (error) {
    await closeEndpoints(started, 0);
    throw error;
  }
}

/** Ends them all; answers that are under way have so long to leave. */
export async function closeEndpoints(endpoints: readonly Endpoint[], timeoutMs: number): Promise<void> {
  await Promise.all(endpoints.map((endpoint) => endpoint.close(timeoutMs)));
}
