/** Turns `--cache-config=<cache>,<key>=<value>` into the option `cacheConfig`. */

import type { CacheConfig } from '../../cache-config.js';
import type { RedisCacheOptions } from '../../cache/redis/options.js';
import { invalidArgument } from '../../errors.js';
import { didYouMean } from '../../suggest.js';
import { pair } from './pair.js';
import type { FlagValues } from './parse-flags.js';

/** The keys of each cache. Those of Redis are Triton's, and the last four. */
const cacheKeys = {
  local: ['size', 'ttl_ms', 'coalesce'],
  redis: [
    'host',
    'port',
    'user',
    'password',
    'db',
    'connect_timeout',
    'socket_timeout',
    'pool_size',
    'wait_timeout',
    'tls_enabled',
    'cert',
    'key',
    'cacert',
    'cacert_dir',
    'sni',
    'ttl_ms',
    'prefix',
    'max_value_bytes',
    'coalesce',
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;

type CacheName = keyof typeof cacheKeys;

function isBuiltIn(name: string): name is CacheName {
  return Object.hasOwn(cacheKeys, name);
}

/** The settings of one cache, by key. */
class Settings {
  readonly #cache: CacheName;
  readonly #given: ReadonlyMap<string, string>;

  constructor(cache: CacheName, given: ReadonlyMap<string, string>) {
    this.#cache = cache;
    this.#given = given;
  }

  text(key: string): string | undefined {
    return this.#given.get(key);
  }

  whole(key: string): number | undefined {
    const text = this.#given.get(key);
    if (text === undefined) return undefined;
    if (/^\d{1,15}$/.test(text)) return Number(text);
    throw invalidArgument(
      `expected an integer for --cache-config=${this.#cache},${key} but received '${text}'`,
    );
  }

  /** As in Triton, 0 means that there is no limit, or that of the default. */
  limit(key: string): number | undefined {
    return this.whole(key) || undefined;
  }

  flag(key: string, otherwise: boolean): boolean {
    const text = this.#given.get(key);
    if (text === undefined) return otherwise;
    if (text === 'true' || text === 'false') return text === 'true';
    throw invalidArgument(
      `expected true or false for --cache-config=${this.#cache},${key} but received '${text}'`,
    );
  }

  required(key: string, what: string): number {
    const value = this.whole(key);
    if (value === undefined) throw this.missing(key, what);
    return value;
  }

  missing(key: string, what: string): Error {
    return invalidArgument(`--cache-config=${this.#cache},${key}=<${what}> is missing`);
  }
}

/** The beginning of a text that may be a name. The rest may be a password, which must not appear in a message. */
function nameOf(text: string): string {
  const [name = ''] = /^[\w,]*/.exec(text) ?? [];
  return name === text ? text : `${name}…`;
}

/**
 * The response cache, from `<cache>,<key>=<value>` or the deprecated flag.
 *
 * @param ignored - Gets a description of what has no effect.
 * @throws {@link TritonError} INVALID_ARG for wrong keys and values, and for two caches.
 */
export function cacheConfig(values: FlagValues, ignored: string[]): CacheConfig | undefined {
  const given = values.list('cache-config');
  const deprecated = values.givenInteger('response-cache-byte-size');
  if (deprecated !== undefined && given.length > 0)
    throw invalidArgument('--cache-config and --response-cache-byte-size are both given: give one of them');
  if (given.length === 0)
    return deprecated === undefined || deprecated === 0 ? undefined : { local: { size: deprecated } };
  const settings = new Map<string, string>();
  const plugins = values.text('cache-directory') !== undefined;
  let chosen: string | undefined;
  for (const text of given) {
    const shape = '<cache>,<key>=<value>';
    const [left, value] = pair('cache-config', text, shape, Object.hasOwn(cacheKeys, text) ? text : '…');
    const comma = left.indexOf(',');
    const shown = `${nameOf(left)}=…`;
    if (comma <= 0) throw invalidArgument(`expected ${shape} for --cache-config but received '${shown}'`);
    // A plug-in may have any name and any keys.
    const whole = (name: string): string => (plugins ? name : nameOf(name));
    const cache = whole(left.slice(0, comma));
    const key = whole(left.slice(comma + 1));
    if (!isBuiltIn(cache) && !plugins)
      throw invalidArgument(
        `--cache-config=${shown}: unknown cache '${cache}'; there are local and redis, and those of --cache-directory`,
      );
    if (chosen !== undefined && chosen !== cache)
      throw invalidArgument(`--cache-config names the caches ${chosen} and ${cache}: choose one of them`);
    const keys: readonly string[] | undefined =
      isBuiltIn(cache) && !(plugins && given.includes(`${cache},plugin=true`)) ? cacheKeys[cache] : undefined;
    if (keys?.includes(key) === false) {
      throw invalidArgument(
        `--cache-config=${shown}: unknown key '${key}'${didYouMean(key, keys)}; there are ${keys.join(', ')}`,
      );
    }
    chosen = cache;
    settings.set(key, value);
  }
  if (chosen !== undefined && (!isBuiltIn(chosen) || settings.get('plugin') === 'true')) {
    // As in Triton, all values are texts.
    const texts: Readonly<Record<string, string>> = Object.fromEntries(settings);
    return { [chosen]: isBuiltIn(chosen) ? { ...texts, plugin: true } : texts };
  }
  if (chosen === 'redis') return redisConfig(new Settings('redis', settings), ignored);
  const local = new Settings('local', settings);
  return {
    local: { size: local.required('size', 'bytes'), ttlMs: local.whole('ttl_ms') },
    coalesce: local.flag('coalesce', true),
  };
}

function redisConfig(settings: Settings, ignored: string[]): CacheConfig {
  const host = settings.text('host');
  if (host === undefined) throw settings.missing('host', 'name');
  if (settings.text('wait_timeout') !== undefined) {
    ignored.push('--cache-config=redis,wait_timeout: look-ups share the connections, and none waits for one');
  }
  const redis: RedisCacheOptions = {
    host,
    port: settings.required('port', 'number'),
    user: settings.text('user'),
    password: settings.text('password'),
    db: settings.whole('db'),
    connectTimeoutMs: settings.limit('connect_timeout'),
    poolSize: settings.whole('pool_size'),
    // As in Triton, only `true` turns it on.
    tls: settings.flag('tls_enabled', false) && {
      ca: settings.text('cacert'),
      caDirectory: settings.text('cacert_dir'),
      cert: settings.text('cert'),
      key: settings.text('key'),
      serverName: settings.text('sni'),
    },
    ttlMs: settings.limit('ttl_ms'),
    prefix: settings.text('prefix'),
  };
  return {
    redis,
    coalesce: settings.flag('coalesce', true),
    lookupTimeoutMs: settings.limit('socket_timeout'),
    maxValueBytes: settings.whole('max_value_bytes'),
  };
}
