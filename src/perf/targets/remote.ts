/** Measures a model of a server in another process, over HTTP or gRPC. */

import { connectServer } from '../../client/index.js';
import type { ModelConfig } from '../../config/index.js';
import { invalidArgument } from '../../errors.js';
import { HttpTarget } from './http/http-target.js';
import { ModelTarget } from './model-target.js';
import type { OpenedServer } from './target.js';

/** How many calls of gRPC are under way at most: they share connections of a hundred calls each. */
const mostCalls = 16_384;

/**
 * Connects to a server.
 *
 * @param url - `http:`, `https:`, `grpc:` or `grpcs:`.
 * @param headers - Headers of each request.
 * @param signal - Ends the wait for the server.
 * @throws {@link TritonError} UNAVAILABLE if no server answers, NOT_FOUND for an unknown model.
 */
export async function openRemote(
  url: string,
  headers: Readonly<Record<string, string>>,
  name: string,
  version: string | undefined,
  signal: AbortSignal,
): Promise<OpenedServer> {
  // Once the model is known, the signal ends only the load, whose last requests and statistics still need the connection.
  const opening = new AbortController();
  const stop = (): void => {
    opening.abort();
  };
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await opened(url, headers, name, version, opening.signal);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function opened(
  url: string,
  headers: Readonly<Record<string, string>>,
  name: string,
  version: string | undefined,
  signal: AbortSignal,
): Promise<OpenedServer> {
  const server = await connectServer(url, { headers, maxConnections: 1024, signal });
  try {
    const model = await server.model(name, version);
    const metadata = await model.metadata;
    // Plain KServe v2 has no configurations.
    const config = await model.config.catch((): ModelConfig | undefined => undefined);
    const address = new URL(url);
    const kind = address.protocol.startsWith('grpc') ? 'grpc' : 'http';
    return {
      kind,
      place: `${address.protocol}//${address.host}${address.pathname.replace(/\/$/, '')}`,
      metadata,
      config,
      configOf: async (other) => {
        try {
          return await (
            await server.model(other)
          ).config;
        } catch {
          return undefined;
        }
      },
      sharedMemory: server.sharedMemory,
      statistics: (other) => server.statistics(other),
      target: (streaming, parameters, judges) => {
        if (kind === 'http' && streaming)
          throw invalidArgument(
            `model '${name}': responses come as a stream, for which HTTP has no typed form; measure the gRPC port`,
          );
        return kind === 'http' && !judges
          ? new HttpTarget(address, { metadata, config, version }, headers, parameters)
          : new ModelTarget(model, streaming, parameters, kind === 'http' ? 1024 : mostCalls);
      },
      close: () => server.close({ timeoutMs: 0 }),
    };
  } catch (error) {
    await server.close({ timeoutMs: 0 });
    throw error;
  }
}
