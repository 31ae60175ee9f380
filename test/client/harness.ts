/** Connections to servers, over each protocol. */

import { connectServer, type ConnectOptions, type RemoteServer } from '../../src/client/index.js';
import type { InferenceServer } from '../../src/index.js';
import { serveGrpc, type ServeGrpcOptions } from '../../src/endpoints/grpc/serve.js';
import { serveHttp } from '../../src/endpoints/http/serve.js';
import { serve, type Context } from '../support/harness.js';

/** The protocols that a client speaks. */
export const protocols = ['http', 'grpc'] as const;

/** See {@link protocols}. */
export type Protocol = (typeof protocols)[number];

/** A server, and a connection to it. */
export interface Both {
  readonly own: InferenceServer;
  readonly remote: RemoteServer;
}

/** An endpoint of a server, which is closed after the test. Returns its address. */
export async function addressOf(
  t: Context,
  protocol: Protocol,
  own: InferenceServer,
  options: Pick<ServeGrpcOptions, 'tls' | 'clientSharedMemory'> = {},
): Promise<string> {
  const serveProtocol = protocol === 'http' ? serveHttp : serveGrpc;
  const endpoint = await serveProtocol(own, { port: 0, ...options });
  t.after(() => endpoint.close({ timeoutMs: 0 }));
  const scheme = options.tls === undefined ? protocol : `${protocol}s`;
  return `${scheme}://127.0.0.1:${endpoint.address.port}`;
}

/** A connection, which is closed after the test. */
export async function connected(
  t: Context,
  url: string,
  options: ConnectOptions = {},
): Promise<RemoteServer> {
  const remote = await connectServer(url, options);
  t.after(() => remote.close({ timeoutMs: 0 }));
  return remote;
}

/** Makes a function that starts a server of these models, and connects to it. */
export function connectedTo(protocol: Protocol) {
  return async (
    t: Context,
    models: Parameters<typeof serve>[1],
    options: Parameters<typeof serve>[2] = {},
    connect: ConnectOptions = {},
  ): Promise<Both> => {
    const own = await serve(t, models, options);
    return { own, remote: await connected(t, await addressOf(t, protocol, own), connect) };
  };
}
