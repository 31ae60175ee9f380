/** Opens the cache outside of the engine of a server that is created. */

import type { NativeServer } from '../addon/native/server.js';
import type { PluginCacheSetup, RemoteCacheSetup } from '../cache-config.js';
import { TritonError } from '../errors.js';
import type { Log } from '../logger.js';
import { thrownText } from '../thrown-text.js';
import { CacheOwner } from './cache-owner.js';
import { PluginCache } from './plugin-cache.js';
import type { ServerCache } from './server-cache.js';

/**
 * Makes the cache that the options name; undefined: they name none, or the engine's own.
 *
 * @param signal - Ends the wait. A cache that is made afterwards is closed.
 * @throws {@link TritonError} INTERNAL if the cache cannot be made, as in Triton; its own code if it is a TritonError.
 */
export async function openCache(
  {
    remoteCache,
    log,
  }: { readonly remoteCache: RemoteCacheSetup | PluginCacheSetup | undefined; readonly log: Log },
  signal: AbortSignal | undefined,
): Promise<ServerCache | undefined> {
  if (remoteCache === undefined) return undefined;
  const { name } = remoteCache;
  if (signal?.aborted === true) throw cancelled(signal);
  const made: Promise<ServerCache> =
    'library' in remoteCache
      ? PluginCache.open(remoteCache, log, signal)
      : remoteCache.make().then((cache) => new CacheOwner(name, cache, remoteCache.lookupTimeoutMs, log));
  let stop: (() => void) | undefined;
  const aborted = new Promise<'aborted'>((resolve) => {
    stop = (): void => {
      resolve('aborted');
    };
    signal?.addEventListener('abort', stop, { once: true });
  });
  try {
    const first = await Promise.race([made, aborted]);
    if (first !== 'aborted') return first;
    made.then(
      (late) => late.close(),
      () => undefined,
    );
    throw cancelled(signal);
  } catch (error) {
    if (error instanceof TritonError) throw error;
    throw new TritonError('INTERNAL', `response cache '${name}': it cannot be opened: ${thrownText(error)}`, {
      cause: error,
    });
  } finally {
    if (stop) signal?.removeEventListener('abort', stop);
  }
}

function cancelled(signal: AbortSignal | undefined): TritonError {
  return new TritonError('CANCELLED', 'starting the server was cancelled by options.signal', {
    cause: signal?.reason,
  });
}

/** Creates an engine, and attaches the cache to it. The cache is closed if that fails. */
export async function createdWith(
  cache: ServerCache | undefined,
  create: () => NativeServer,
): Promise<NativeServer> {
  try {
    const native = create();
    cache?.attach(native);
    return native;
  } catch (error) {
    await cache?.close();
    throw error;
  }
}
