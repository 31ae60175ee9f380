/** Creates the engine of a server. */

import { unavailable } from '../errors.js';
import { addon } from './load.js';
import type { NativeCacheOptions, NativeGivenResource } from './native/addon.js';
import type { NativeServer } from './native/server.js';

/**
 * Creates the engine of a server. It belongs to this environment.
 *
 * @throws {@link TritonError} UNAVAILABLE if the addon cannot be loaded, or the system has no thread left.
 */
export function createEngine(options: {
  readonly modelLoadConcurrency: number;
  readonly maxInFlightBytes: number;
  /** Number of cores that idle threads may spin on. */
  readonly spinCores: number;
  /** The resources that instances share, as far as the user gives them; undefined: no rate limiter. */
  readonly rateLimit: readonly NativeGivenResource[] | undefined;
  /** The response cache; undefined: there is none. */
  readonly cache: NativeCacheOptions | undefined;
  /** Whether each repository has a namespace of its own (default false). */
  readonly modelNamespacing?: boolean;
}): NativeServer {
  const engine = addon().createServer(
    options.modelLoadConcurrency,
    options.maxInFlightBytes,
    options.spinCores,
    options.rateLimit,
    options.cache,
    options.modelNamespacing ?? false,
  );
  if (!engine) throw unavailable('NO_MEMORY', 'the system has no memory or thread left for another server');
  return engine;
}
