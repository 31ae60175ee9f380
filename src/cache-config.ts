/** The server's response cache: its options, and the models that use it. */

import type { NativeCacheOptions } from './addon/native/addon.js';
import { expected, readOptions } from './argument-checks.js';
import type { ModelConfig } from './config/index.js';

/**
 * The response cache, for models that say `response_cache { enable: true }`. docs/cache.md explains it. Triton:
 * `--cache-config`.
 *
 * @example
 * const server = await createServer('./models', { cacheConfig: { local: { size: 64 * 2 ** 20 } } });
 */
export interface CacheConfig {
  /** The cache in the memory of the process. */
  readonly local: LocalCacheOptions;
  /**
   * Whether equal requests that are in flight at the same time share one run (default true). Triton has no such
   * option: there, all of them run.
   */
  readonly coalesce?: boolean | undefined;
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

/** Triton does not start with 64 bytes, and starts with 512. */
const leastBytes = 512;
/** A century. The engine counts nanoseconds in 64 bits. */
const mostTtlMs = 100 * 365 * 24 * 3600 * 1000;

/**
 * Checks the option `cacheConfig`.
 *
 * @returns Undefined: there is no cache.
 * @throws {@link TritonError} INVALID_ARG.
 */
export function checkCacheConfig(options: unknown): NativeCacheOptions | undefined {
  if (options === undefined) return undefined;
  const path = 'options.cacheConfig';
  const { local, coalesce = true } = readOptions<CacheConfig>(options, ['local', 'coalesce'], path);
  if (local === undefined) throw expected('the options of a cache', `${path}.local`, local);
  const { size, ttlMs } = readOptions<LocalCacheOptions>(local, ['size', 'ttlMs'], `${path}.local`);
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < leastBytes)
    throw expected(`bytes, at least ${leastBytes},`, `${path}.local.size`, size);
  if (ttlMs !== undefined && !(typeof ttlMs === 'number' && ttlMs > 0 && ttlMs <= mostTtlMs))
    throw expected('milliseconds, above 0 and at most a century,', `${path}.local.ttlMs`, ttlMs);
  if (typeof coalesce !== 'boolean') throw expected('true or false', `${path}.coalesce`, coalesce);
  // 0 means that entries do not expire, and the engine counts in nanoseconds.
  return { size, ttlMs: ttlMs === undefined ? 0 : Math.max(ttlMs, 1e-6), coalesce };
}

/** Whether a model's responses are cached, if the server has a cache. */
export function isCached({ response_cache: cache }: Pick<ModelConfig, 'response_cache'>): boolean {
  return cache?.enable === true;
}

/** A note for a model that asks for a cache where there is none. */
export function withoutCache(config: ModelConfig): readonly string[] {
  return isCached(config)
    ? [
        'response_cache.enable: accepted, without effect here: it needs the option cacheConfig (--cache-config=local,size=<bytes>)',
      ]
    : [];
}
