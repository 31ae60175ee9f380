/** Measures a model of a server in this process. */

import type { ModelConfig } from '../../config/index.js';
import type { ServerOptions } from '../../options.js';
import { TritonError } from '../../errors.js';
import type { InferenceServer } from '../../index.js';
import { createServer } from '../../server/creation/create-server.js';
import { ModelTarget } from './model-target.js';
import type { OpenedServer } from './target.js';

/** More requests than this are hardly ever waiting in one process. */
const mostAtOnce = 65_536;

/**
 * Creates a server with one model, and those that it needs.
 *
 * @param options - Its repositories, and further options.
 * @param others - Models that are loaded beside it.
 * @throws {@link TritonError} NOT_FOUND for an unknown model; the error of a load that failed.
 */
export async function openInProcess(
  options: ServerOptions,
  model: string,
  version: string | undefined,
  others: readonly string[],
): Promise<OpenedServer> {
  let server: InferenceServer;
  try {
    server = await createServer({ ...options, modelControlMode: 'explicit', loadModels: [model, ...others] });
  } catch (error) {
    throw onlyFailure(error);
  }
  try {
    return openedOf(server, options, model, version);
  } catch (error) {
    await server.close({ timeoutMs: 0 });
    throw error;
  }
}

/** The error of the only model that failed: that of the start is about options of a program. */
function onlyFailure(error: unknown): unknown {
  if (!(error instanceof TritonError && error.cause instanceof AggregateError)) return error;
  const { errors }: { readonly errors: readonly unknown[] } = error.cause;
  const [first] = errors;
  return first instanceof TritonError && errors.length === 1 ? first : error;
}

/**
 * A server of this process that has the model already.
 *
 * @throws {@link TritonError} NOT_FOUND for an unknown model or version, UNAVAILABLE if it is not served.
 */
export function openedOf(
  server: InferenceServer,
  { modelRepository }: Pick<ServerOptions, 'modelRepository'>,
  name: string,
  version: string | undefined,
): OpenedServer {
  const model = server.model(name, version);
  const { metadata, config } = model;
  const configOf = (other: string): ModelConfig | undefined => {
    try {
      return server.model(other).config;
    } catch (error) {
      if (error instanceof TritonError) return undefined;
      throw error;
    }
  };
  return {
    kind: 'in process',
    place: [modelRepository ?? []].flat().map(String).join(', '),
    metadata,
    config,
    configOf: (other) => Promise.resolve(configOf(other)),
    statistics: (other) => Promise.resolve(server.statistics(other)),
    target: (streaming, parameters) => new ModelTarget(model, streaming, parameters, mostAtOnce),
    close: () => server.close({ timeoutMs: 0 }),
  };
}
