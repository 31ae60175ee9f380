/** Starts and closes the endpoints of a server. */

import type { ServeGrpcOptions } from '../../endpoints/grpc/serve.js';
import type { ServeHttpOptions } from '../../endpoints/http/serve.js';
import type { ServeOpenAIOptions } from '../../endpoints/openai/serve.js';
import { provideHost } from '../../endpoints/service/host.js';
import { lazy } from '../../lazy.js';
import type { ServeMetricsOptions } from '../../metrics/serve.js';
import type { InferenceServer } from '../../server/inference-server.js';
import type { Endpoint } from './endpoint.js';
import { grpcOptions } from './grpc-settings.js';
import type { Log } from './log.js';
import { openAIOptions } from './openai-settings.js';
import type { ServeSettings } from './settings.js';

/** The options of each endpoint; undefined if it is not served. */
interface Options {
  readonly grpc: ServeGrpcOptions | undefined;
  readonly http: ServeHttpOptions | undefined;
  readonly metrics: ServeMetricsOptions | undefined;
  readonly openAI: ServeOpenAIOptions | undefined;
}

/** Starts an endpoint, and logs its address; undefined if it is not served. */
type Starter = (server: InferenceServer, options: Options, log: Log) => Promise<Endpoint | undefined>;

const grpcModule = lazy(() => import('../../endpoints/grpc/serve.js'));
const httpModule = lazy(() => import('../../endpoints/http/serve.js'));
const openAIModule = lazy(() => import('../../endpoints/openai/serve.js'));
const metricsModule = lazy(() => import('../../metrics/serve.js'));
/** Imported only on demand: few servers use threads. */
const threadsModule = lazy(() => import('./threads/endpoint-thread.js'));
const portsModule = lazy(() => import('./threads/shared-ports.js'));

/** Settings whose files were read and checked. */
export interface PreparedSettings extends Omit<ServeSettings, 'grpc' | 'openAI'> {
  readonly grpc: ServeGrpcOptions | undefined;
  readonly openAI: ServeOpenAIOptions | undefined;
}

/**
 * Reads and checks the files of TLS and of the chat template, because a wrong one should be reported before the models are loaded. Starts to import
 * the endpoints' modules, which goes on while models are loaded.
 *
 * @throws {@link TritonError} INVALID_ARG for a file that cannot be read, or that TLS does not accept.
 */
export async function prepareEndpoints(settings: ServeSettings): Promise<PreparedSettings> {
  const { grpc, http, metrics, openAI } = settings;
  const nothing = (): void => undefined; // An error is reported when the module is used.
  if (grpc !== undefined) grpcModule().catch(nothing);
  if (http !== undefined) httpModule().catch(nothing);
  if (metrics !== undefined) metricsModule().catch(nothing);
  if (openAI !== undefined) openAIModule().catch(nothing);
  return {
    ...settings,
    grpc: grpc && (await grpcOptions(grpc)),
    openAI: openAI && (await openAIOptions(openAI)),
  };
}

async function startHttp(
  server: InferenceServer,
  { http }: Options,
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
  { grpc }: Options,
  log: Log,
): Promise<Endpoint | undefined> {
  if (grpc === undefined) return undefined;
  const { serveGrpc } = await grpcModule();
  const endpoint = await serveGrpc(server, grpc);
  log.info(`Started GRPCInferenceService at ${place(endpoint.address)}`);
  return { close: (timeoutMs) => endpoint.close({ timeoutMs }) };
}

async function startMetrics(
  server: InferenceServer,
  { metrics }: Options,
  log: Log,
): Promise<Endpoint | undefined> {
  if (metrics === undefined) return undefined;
  const { serveMetrics } = await metricsModule();
  const endpoint = await serveMetrics(server, metrics);
  log.info(`Started Metrics Service at ${place(endpoint.address)}`);
  return { close: () => endpoint.close() };
}

async function startOpenAI(
  server: InferenceServer,
  { openAI }: Options,
  log: Log,
): Promise<Endpoint | undefined> {
  if (openAI === undefined) return undefined;
  const { serveOpenAI } = await openAIModule();
  const endpoint = await serveOpenAI(server, openAI);
  log.info(`Started OpenAI Service at ${place(endpoint.address)}`);
  return { close: (timeoutMs) => endpoint.close({ timeoutMs }) };
}

const starters: readonly Starter[] = [startGrpc, startHttp, startMetrics, startOpenAI];

function place({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The endpoints' options, with ports that threads can share if there are several threads. */
async function optionsOf({ http, grpc, metrics, openAI, threads }: PreparedSettings): Promise<Options> {
  const { sharedPort } = threads.http > 1 || threads.grpc > 1 ? await portsModule() : {};
  const shared = async <T extends ServeHttpOptions | ServeGrpcOptions>(
    what: string,
    count: number,
    options: T | undefined,
  ): Promise<T | undefined> =>
    options === undefined || count < 2 || sharedPort === undefined
      ? options
      : { ...options, ...(await sharedPort(what, options)) };
  return {
    http: await shared('HTTP', threads.http, http),
    grpc: await shared('gRPC', threads.grpc, grpc),
    metrics,
    openAI,
  };
}

/** Starts the endpoint threads in addition to this one. */
async function startThreads(
  server: InferenceServer,
  { http, grpc }: Options,
  { threads, server: { modelControlMode } }: PreparedSettings,
  log: Log,
): Promise<Endpoint[]> {
  const httpThreads = http === undefined ? 1 : threads.http;
  const grpcThreads = grpc === undefined ? 1 : threads.grpc;
  const count = Math.max(httpThreads, grpcThreads) - 1;
  if (count === 0) return [];
  const { EndpointThread } = await threadsModule();
  const started = await Promise.allSettled(
    Array.from({ length: count }, (_, i) => {
      const data = {
        handle: server.handle,
        http: i + 1 < httpThreads ? http : undefined,
        grpc: i + 1 < grpcThreads ? grpc : undefined,
        controlled: modelControlMode === 'explicit',
        verbose: log.isVerbose,
      };
      return EndpointThread.start(server, data, log);
    }),
  );
  const running = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = started.find((one) => one.status === 'rejected');
  if (failed !== undefined) {
    await closeEndpoints(running, 0);
    throw failed.reason;
  }
  log.info(`Started ${count} more threads of endpoints: ${httpThreads} serve HTTP, ${grpcThreads} gRPC`);
  return running;
}

/**
 * Starts all endpoints that are to be served.
 *
 * @throws {@link TritonError} UNAVAILABLE if an endpoint cannot listen; all others are then closed.
 */
export async function startEndpoints(
  server: InferenceServer,
  settings: PreparedSettings,
  log: Log,
): Promise<readonly Endpoint[]> {
  const started: Endpoint[] = [];
  try {
    provideHost(server, { log });
    const options = await optionsOf(settings);
    for (const start of starters) {
      const endpoint = await start(server, options, log);
      if (endpoint !== undefined) started.push(endpoint);
    }
    started.push(...(await startThreads(server, options, settings, log)));
    return started;
  } catch (error) {
    await closeEndpoints(started, 0);
    throw error;
  }
}

/** Closes all endpoints. Answers in progress have `timeoutMs` to be sent. */
export async function closeEndpoints(endpoints: readonly Endpoint[], timeoutMs: number): Promise<void> {
  await Promise.all(endpoints.map((endpoint) => endpoint.close(timeoutMs)));
}
