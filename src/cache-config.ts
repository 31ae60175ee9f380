/** The server's response cache: its options, and the models that use it. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { NativeCacheOptions } from './addon/native/addon.js';
import { expected, readOptions, show } from './argument-checks.js';
import { checkRedisOptions, type RedisCacheOptions } from './cache/redis/options.js';
import { isCache } from './cache/registered-caches.js';
import type { ResponseCache, ResponseCacheMaker } from './cache/response-cache.js';
import type { ModelConfig } from './config/index.js';
import { invalidArgument } from './errors.js';
import { isKeyed } from './keyless.js';
import { lazy } from './lazy.js';
import { printableLine } from './printable.js';
import { didYouMean } from './suggest.js';
import { longestTimerMs } from './time-limit.js';

/**
 * The response cache, for models that say `response_cache { enable: true }`. docs/cache.md explains it. Exactly one cache is
 * given, by its name and with its settings: `local`, `redis`, one of {@link registerCache}, or a plug-in of Triton in
 * {@link ServerOptions.cacheDirectory}. Triton: `--cache-config`.
 *
 * @example
 * const server = await createServer('./models', { cacheConfig: { local: { size: 64 * 2 ** 20 } } });
 */
export interface CacheConfig {
  /** The cache in the memory of the process. */
  readonly local?: LocalCacheOptions | PluginCacheOptions | undefined;
  /** A Redis server, which several processes may share. It needs the npm package `redis`. */
  readonly redis?: RedisCacheOptions | PluginCacheOptions | undefined;
  /**
   * Whether equal requests that are in flight at the same time share one run (default true). Triton has no such
   * option: there, all of them run.
   */
  readonly coalesce?: boolean | undefined;
  /**
   * How long a request waits for its look-up in a cache other than `local`, in milliseconds (default 1000). Then it runs.
   */
  readonly lookupTimeoutMs?: number | undefined;
  /**
   * The most bytes of a stored answer, with its request, in a cache other than `local` (default 16 MiB). Larger ones are
   * not stored.
   */
  readonly maxValueBytes?: number | undefined;
  /**
   * The settings of a registered cache or of a plug-in, whose values are texts, numbers and truth values. With
   * `plugin: true`, `local` and `redis` are plug-ins, too.
   */
  readonly [name: string]: unknown;
}

/**
 * Options of the cache in the memory of the process. All models share it. Triton: `--cache-config=local,size=…`.
 *
 * @example
 * const local: LocalCacheOptions = { size: 64 * 2 ** 20, ttlMs: 60_000 };
 */
export interface LocalCacheOptions {
  /**
   * The most bytes that its entries may occupy, at least 512. An entry has the inputs and the outputs of a
   * request, and a few hundred bytes more. The entries that were used longest ago make room for new ones.
   */
  readonly size: number;
  /**
   * How long an entry is used, in milliseconds (default: without limit). Triton has no such option.
   */
  readonly ttlMs?: number | undefined;
}

/**
 * The settings of a plug-in of Triton that takes the place of a built-in cache of its name ({@link ServerOptions.cacheDirectory}).
 *
 * @example
 * const local: PluginCacheOptions = { plugin: true, size: 64 * 2 ** 20 };
 */
export interface PluginCacheOptions {
  /** Not passed on to the plug-in. */
  readonly plugin: true;
  /** What the plug-in knows. It gets texts, as in Triton. */
  readonly [setting: string]: string | number | boolean | undefined;
}

/** A cache outside of the engine, which is made when the server starts. */
export interface RemoteCacheSetup {
  readonly name: string;
  readonly lookupTimeoutMs: number;
  /** @throws What the cache's maker throws. */
  readonly make: () => Promise<ResponseCache>;
}

/** A plug-in of Triton, which is opened when the server starts. */
export interface PluginCacheSetup {
  readonly name: string;
  /** The path of its file. */
  readonly library: string;
  /** A JSON object. As in Triton, its values are texts. */
  readonly config: string;
}

/** The checked options of a server's cache. */
export interface ResolvedCache {
  readonly cache: NativeCacheOptions | undefined;
  /** Undefined: the cache is the engine's own, or there is none. */
  readonly remoteCache: RemoteCacheSetup | PluginCacheSetup | undefined;
}

/** Triton does not start with 64 bytes, and starts with 512. */
const leastBytes = 512;
/** A century. The engine counts nanoseconds in 64 bits. */
const mostTtlMs = 100 * 365 * 24 * 3600 * 1000;
const defaultTimeoutMs = 1000;
const defaultValueBytes = 16 * 2 ** 20;
/** Redis stores no larger values. */
const mostValueBytes = 512 * 2 ** 20;
/** Bytes of answers that wait to be stored. More are dropped. */
const mostQueuedBytes = 64 * 2 ** 20;

const common = ['coalesce', 'lookupTimeoutMs', 'maxValueBytes'] as const;

/** Neither a server without it nor an import of the package needs it. */
const redisCache = lazy(() => import('./cache/redis/redis-cache.js'));

/**
 * Checks the option `cacheConfig`.
 *
 * @param registered - The registered caches.
 * @param directory - The folder of plug-ins; undefined: none.
 * @throws {@link TritonError} INVALID_ARG.
 */
export function checkCacheConfig(
  options: unknown,
  registered: ReadonlyMap<string, ResponseCache | ResponseCacheMaker> = new Map(),
  directory?: string,
): ResolvedCache {
  if (options === undefined || options === null) return { cache: undefined, remoteCache: undefined };
  const path = 'options.cacheConfig';
  const plugin = directory === undefined ? undefined : pluginName(options, registered);
  const names = ['local', 'redis', ...registered.keys()];
  if (plugin !== undefined && !names.includes(plugin)) names.push(plugin);
  const given = readOptions<CacheConfig>(options, [...names, ...common], path, (key) => {
    const near = didYouMean(key, [...names, ...common]);
    const folder = directory === undefined ? '; a plug-in of Triton needs options.cacheDirectory' : '';
    return `${near}; the caches are ${names.join(', ')}, and the options ${common.join(', ')}${folder}`;
  });
  const chosen = names.filter((name) => given[name] !== undefined);
  const [name] = chosen;
  if (name === undefined || chosen.length > 1) {
    const found = name === undefined ? 'none' : chosen.map((one) => printableLine(one)).join(' and ');
    throw invalidArgument(
      `expected the settings of one cache (${names.join(', ')}) for ${path} but received ${found}`,
    );
  }
  const { coalesce = true, lookupTimeoutMs, maxValueBytes } = given;
  if (typeof coalesce !== 'boolean') throw expected('true or false', `${path}.coalesce`, coalesce);
  const isPlugin = name === plugin;
  if (name === 'local' && !isPlugin) {
    for (const key of ['lookupTimeoutMs', 'maxValueBytes'] as const) {
      if (given[key] !== undefined)
        throw invalidArgument(`${path}.${key}: the local cache has no such limit; it is for other caches`);
    }
    return { cache: { ...checkLocal(given.local, `${path}.local`), coalesce }, remoteCache: undefined };
  }
  const timeoutMs = whole(
    lookupTimeoutMs ?? defaultTimeoutMs,
    1,
    longestTimerMs,
    'milliseconds',
    `${path}.lookupTimeoutMs`,
  );
  const mostBytes = whole(
    maxValueBytes ?? defaultValueBytes,
    leastBytes,
    mostValueBytes,
    'bytes',
    `${path}.maxValueBytes`,
  );
  const cache = { timeoutMs, mostBytes, mostQueued: Math.max(mostQueuedBytes, mostBytes), coalesce };
  if (isPlugin && directory !== undefined) {
    return {
      cache: { ...cache, plugin: true },
      remoteCache: pluginSetup(name, given[name], directory, `${path}['${printableLine(name)}']`),
    };
  }
  return {
    cache,
    remoteCache: {
      name,
      lookupTimeoutMs: timeoutMs,
      make: name === 'redis' ? redisMaker(given.redis, mostBytes) : registeredMaker(name, given, registered),
    },
  };
}

/** The cache that a plug-in is for; undefined: there is none. */
function pluginName(options: unknown, registered: ReadonlyMap<string, unknown>): string | undefined {
  if (typeof options !== 'object' || options === null) return undefined;
  return Object.entries(options).find(([name, settings]: readonly [string, unknown]) => {
    // What is no object is a misspelt option rather than settings.
    if (typeof settings !== 'object' || settings === null || registered.has(name)) return false;
    if ((common as readonly string[]).includes(name)) return false;
    if (name !== 'local' && name !== 'redis') return isPluginName(name);
    return 'plugin' in settings && settings.plugin === true;
  })?.[0];
}

/** Whether a plug-in may have this name, which is in the names of its folder and its file. */
function isPluginName(name: string): boolean {
  return /^[\w.-]+$/.test(name) && !/^\.+$/.test(name);
}

function pluginSetup(name: string, given: unknown, directory: string, path: string): PluginCacheSetup {
  if (!isKeyed(given)) throw expected('the settings of the cache', path, given);
  const { plugin: _, ...settings }: Readonly<Record<string, unknown>> = { ...given };
  const texts: Record<string, string> = {};
  for (const [key, value] of Object.entries(settings)) {
    if (value === undefined) continue;
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
      throw expected('a text, a number, true or false', `${path}['${printableLine(key)}']`, value);
    texts[key] = String(value);
  }
  const file = `libtritoncache_${name}.so`;
  const library = join(directory, name, file);
  // Triton's words.
  if (!existsSync(library))
    throw invalidArgument(`unable to find '${file}' for cache. Searched: ${join(directory, name)}`);
  return { name, library, config: JSON.stringify(texts) };
}

function whole(value: unknown, least: number, most: number, unit: string, path: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most)
    return value;
  throw expected(`whole ${unit} from ${least} to ${most}`, path, value);
}

function checkLocal(given: unknown, path: string): { readonly size: number; readonly ttlMs: number } {
  const { size, ttlMs } = readOptions<LocalCacheOptions>(given, ['size', 'ttlMs'], path);
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < leastBytes)
    throw expected(`bytes, at least ${leastBytes},`, `${path}.size`, size);
  if (ttlMs !== undefined && !(typeof ttlMs === 'number' && ttlMs > 0 && ttlMs <= mostTtlMs))
    throw expected('milliseconds, above 0 and at most a century,', `${path}.ttlMs`, ttlMs);
  // 0 means that entries do not expire, and the engine counts in nanoseconds.
  return { size, ttlMs: ttlMs === undefined ? 0 : Math.max(ttlMs, 1e-6) };
}

function redisMaker(given: unknown, mostBytes: number): RemoteCacheSetup['make'] {
  const redis = checkRedisOptions(given, 'options.cacheConfig.redis');
  return async () => (await redisCache()).openRedisCache(redis, mostBytes);
}

function registeredMaker(
  name: string,
  config: Readonly<Record<string, unknown>>,
  registered: ReadonlyMap<string, ResponseCache | ResponseCacheMaker>,
): RemoteCacheSetup['make'] {
  const path = `options.cacheConfig['${name}']`;
  const cache = registered.get(name);
  const settings = config[name];
  if (!isKeyed(settings)) throw expected('the settings of the cache', path, settings);
  const copy = { ...settings };
  const [key] = Object.keys(copy);
  if (typeof cache !== 'function') {
    if (key !== undefined)
      throw invalidArgument(
        `unknown key '${printableLine(key)}' in ${path}: the cache takes no settings; register a function that makes it`,
      );
    // Only registered caches get here.
    const shared = cache as ResponseCache;
    // Without close: other servers may use it.
    return () =>
      Promise.resolve({
        lookup: (keys, signal) => shared.lookup(keys, signal),
        insert: (entries) => shared.insert(entries),
      });
  }
  return async () => {
    const made: unknown = await cache(Object.freeze(copy));
    if (isCache(made)) return made;
    throw invalidArgument(
      `registerCache: cache '${name}': expected its function to make an object with the functions lookup and insert, but it returned ${show(made)}`,
    );
  };
}

/** Whether a model's responses are cached, if the server has a cache. */
export function isCached({ response_cache: cache }: Pick<ModelConfig, 'response_cache'>): boolean {
  return cache?.enable === true;
}

/** A note for a model that asks for a cache which it does not get. */
export function withoutCache(config: ModelConfig, { cache, remoteCache }: ResolvedCache): readonly string[] {
  if (!isCached(config)) return [];
  if (cache === undefined) {
    return [
      'response_cache.enable: accepted, without effect here: it needs the option cacheConfig (--cache-config=local,size=<bytes>)',
    ];
  }
  return remoteCache !== undefined && config.dynamic_batching?.preserve_ordering === true
    ? [
        `response_cache.enable: accepted, without effect with dynamic_batching.preserve_ordering: look-ups in the cache '${remoteCache.name}' end in any order`,
      ]
    : [];
}
