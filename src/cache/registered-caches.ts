/** Response caches that the program registers. They belong to this environment, and each new server may use one. */

import { expected, show } from '../argument-checks.js';
import { invalidArgument, TritonError } from '../errors.js';
import type { ResponseCache, ResponseCacheMaker } from './response-cache.js';

/** Keys of `cacheConfig` that are no names of registered caches. */
export const reservedNames: readonly string[] = [
  'local',
  'redis',
  'coalesce',
  'lookupTimeoutMs',
  'maxValueBytes',
];

const registered = new Map<string, ResponseCache | ResponseCacheMaker>();

/** Whether a value has the functions of a cache. */
export function isCache(value: unknown): value is ResponseCache {
  if (typeof value !== 'object' || value === null) return false;
  // Checked before they are called.
  const { lookup, insert, close }: Partial<Record<keyof ResponseCache, unknown>> = value;
  return (
    typeof lookup === 'function' &&
    typeof insert === 'function' &&
    (close === undefined || typeof close === 'function')
  );
}

/**
 * Adds a response cache, which servers that are created later may use: `cacheConfig: { '<name>': {…settings} }`. The
 * registration belongs to this environment and lasts until it ends. Triton: a cache library.
 *
 * @param name - Letters, digits, `_`, `-` and `.`. Not `local`, `redis`, an option of `cacheConfig`, or a member
 *   of `Object.prototype`.
 * @param cache - The cache, which takes no settings and which all servers share, so that none closes it; or a function that makes one for each
 *   server with the settings of `cacheConfig`.
 * @throws {@link TritonError} INVALID_ARG for an invalid name or cache; ALREADY_EXISTS for a name that is registered.
 *
 * @example
 * registerCache('memory', { lookup: (keys) => keys.map((key) => map.get(key)), insert });
 * const server = await createServer('./models', { cacheConfig: { memory: {} } });
 */
export function registerCache(name: string, cache: ResponseCache | ResponseCacheMaker): void {
  const given: unknown = name;
  if (typeof given !== 'string' || !/^[\w.-]+$/.test(given))
    throw expected('letters, digits, _, - and . for the name of a cache', 'registerCache', given);
  // Every object has these, so options would seem to name the cache.
  if (name in Object.prototype)
    throw invalidArgument(`registerCache: '${name}' is a name of each object; choose another one`);
  if (reservedNames.includes(name))
    throw invalidArgument(`registerCache: '${name}' is a name of the package; choose another one`);
  if (registered.has(name))
    throw new TritonError('ALREADY_EXISTS', `registerCache: a cache '${name}' is registered already`);
  if (typeof cache !== 'function' && !isCache(cache)) {
    throw invalidArgument(
      `registerCache: cache '${name}': expected an object with the functions lookup and insert, or a function that makes one, but received ${show(cache)}`,
    );
  }
  registered.set(name, cache);
}

/** The registered caches. */
export function registeredCaches(): ReadonlyMap<string, ResponseCache | ResponseCacheMaker> {
  return new Map(registered);
}
