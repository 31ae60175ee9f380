/** The interface of response caches outside of the engine: those of the program, and Redis. */

/**
 * An answer that a {@link ResponseCache} stores.
 *
 * @example
 * const insert = (entries: readonly CachedAnswer[]): void => {
 *   for (const { key, value } of entries) map.set(key, value);
 * };
 */
export interface CachedAnswer {
  /** At most a few hundred characters. It names the model, its version and a digest of its content. */
  readonly key: string;
  /** The answer with the whole request, in the package's own form. */
  readonly value: Uint8Array;
}

/** What a {@link ResponseCache} returns for a key: undefined or null if it has nothing. */
export type CachedValue = Uint8Array | undefined | null;

/**
 * A response cache of the program ({@link registerCache}). Its functions are called on the event loop of the environment
 * that created the server.
 *
 * What it returns is checked: a value that is not the whole and undamaged answer to the request, from whomever it comes, is
 * no hit, and the request runs. If a look-up throws, rejects or takes too long, its requests run, too, and the log says so
 * once.
 *
 * @example
 * const stored = new Map<string, Uint8Array>();
 * const cache: ResponseCache = {
 *   lookup: (keys) => keys.map((key) => stored.get(key)),
 *   insert: (entries) => entries.forEach(({ key, value }) => stored.set(key, value)),
 * };
 */
export interface ResponseCache {
  /**
   * Looks up all keys that were asked for since the last call, such as those of a tick.
   *
   * @param signal - Aborted when the time limit is over. The result is not used then.
   * @returns What is stored, by position. The bytes must not change before the next turn of the event loop.
   */
  lookup(
    keys: readonly string[],
    signal: AbortSignal,
  ): readonly CachedValue[] | Promise<readonly CachedValue[]>;
  /**
   * Stores answers. There is one call at a time: what is to be stored meanwhile waits, and is dropped if too much waits.
   */
  insert(entries: readonly CachedAnswer[]): unknown;
  /**
   * The server that the cache was made for has closed. Called once, and only for caches of a {@link ResponseCacheMaker}: one
   * that is registered as an object belongs to the program, and other servers may use it.
   */
  close?(): unknown;
}

/**
 * Makes a cache with the settings of `cacheConfig`, for one server. If it throws or rejects, the server does not start.
 *
 * @example
 * const make: ResponseCacheMaker = ({ folder }) => new FolderCache(String(folder));
 */
export type ResponseCacheMaker = (
  settings: Readonly<Record<string, unknown>>,
) => ResponseCache | Promise<ResponseCache>;
