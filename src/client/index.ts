/** A server of another process, with the library's own interface: `tritonts/client`. */

import { expected } from '../argument-checks.js';
import { TritonError } from '../errors.js';
import { Connection } from './connection.js';
import { checkConnectOptions, type ConnectOptions } from './options.js';
import { HttpServer } from './remote-server.js';
import type { RemoteServer } from './types.js';

export type { ConnectOptions } from './options.js';
export type {
  RemoteInferOptions,
  RemoteMapOptions,
  RemoteMetadata,
  RemoteModel,
  RemoteOutcome,
  RemoteResult,
  RemoteServer,
  RemoteStatistics,
} from './types.js';

function addressOf(url: unknown): URL {
  const given = url instanceof URL ? url.href : url;
  if (typeof given !== 'string' || !URL.canParse(given))
    throw expected("a URL such as 'http://localhost:8000'", 'connectServer', given);
  const address = new URL(given);
  if (address.search !== '' || address.hash !== '')
    throw expected('a URL without a query', 'connectServer', given);
  if (address.protocol === 'http:' || address.protocol === 'https:') return address;
  if (address.protocol === 'grpc:' || address.protocol === 'grpcs:')
    throw new TritonError('UNSUPPORTED', `'${given}': gRPC is not supported yet; use the server's HTTP port`);
  throw expected('http: or https:', 'connectServer', given);
}

/**
 * Connects to a server of another process: tritonts, Triton, or any other that speaks KServe v2 over HTTP with the extension for
 * binary data. It has the names, results and errors of {@link InferenceServer}, with promises for answers. Nothing native is
 * loaded.
 *
 * @param url - The server's address: `http://localhost:8000`. A path in it comes before `/v2`; a name and a password are sent as
 *   basic authorization.
 * @param options - See {@link ConnectOptions}.
 * @returns The server, which has answered.
 * @throws {@link TritonError} INVALID_ARG for wrong options, UNSUPPORTED for gRPC, UNAVAILABLE if nobody answers there.
 *
 * @example
 * import { connectServer } from 'tritonts/client';
 * await using server = await connectServer('http://localhost:8000');
 * const { outputs } = await server.infer('digits', { image: new Float32Array(64) });
 */
export async function connectServer(url: string | URL, options: ConnectOptions = {}): Promise<RemoteServer> {
  const address = addressOf(url);
  const checked = checkConnectOptions(options);
  const { signal } = checked;
  const connection = new Connection(address, checked);
  const server = new HttpServer(connection);
  const onAbort = (): void => {
    void server.close({ timeoutMs: 0 });
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    // Whatever the server answers, it is there: it may not be ready, or not tell of its health.
    await connection.ask({ method: 'GET', path: '/v2/health/live', reads: true, signal });
    return server;
  } catch (error) {
    await connection.close(0);
    throw error;
  }
}
