/** The options of the response cache in Redis. */

import { expected, readOptions } from '../../argument-checks.js';

/**
 * TLS for the connections to Redis. Triton: `tls_enabled`, `cacert`, `cacert_dir`, `cert`, `key`, `sni`.
 *
 * @example
 * const tls: RedisTlsOptions = { ca: '/etc/redis/ca.pem' };
 */
export interface RedisTlsOptions {
  /** File of the certificates that are trusted (default: those of Node). */
  readonly ca?: string | undefined;
  /** Folder of such files. */
  readonly caDirectory?: string | undefined;
  /** File of the client's own certificate. */
  readonly cert?: string | undefined;
  /** File of its key. */
  readonly key?: string | undefined;
  /** The name that the server's certificate must have (default: the host). */
  readonly serverName?: string | undefined;
}

/**
 * The response cache in Redis. Triton: `--cache-config=redis,…`.
 *
 * @example
 * const redis: RedisCacheOptions = { host: 'localhost', port: 6379, ttlMs: 3600_000 };
 */
export interface RedisCacheOptions {
  /** Name or address of the server. */
  readonly host: string;
  /** Its port. */
  readonly port: number;
  /** Name of the user (default: TRITONCACHE_REDIS_USERNAME, else Redis' user `default`). */
  readonly user?: string | undefined;
  /** Its password (default: TRITONCACHE_REDIS_PASSWORD, else none). */
  readonly password?: string | undefined;
  /** Number of the database (default 0). */
  readonly db?: number | undefined;
  /** How long connecting may take, in milliseconds (default 5000). */
  readonly connectTimeoutMs?: number | undefined;
  /** Number of connections (default 1). All look-ups of a tick share one. */
  readonly poolSize?: number | undefined;
  /** Whether connections use TLS, and how (default: they do not). */
  readonly tls?: boolean | RedisTlsOptions | undefined;
  /** How long an answer is kept, in milliseconds (default: until Redis evicts it). */
  readonly ttlMs?: number | undefined;
  /** What all keys begin with (default `tritonts:`). */
  readonly prefix?: string | undefined;
}

/** The same, complete. */
export interface ResolvedRedis {
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
  readonly connectTimeoutMs: number;
  readonly poolSize: number;
  readonly tls: RedisTlsOptions | undefined;
  readonly ttlMs: number | undefined;
  readonly prefix: string;
}

/** Without the other option, a connection could take for ever. */
const defaultConnectMs = 5000;
const longestConnectMs = 3600_000;
const mostConnections = 64;
/** Redis stores the time when a key ends in milliseconds, in 64 bits. */
const mostTtlMs = 100 * 365 * 24 * 3600 * 1000;

const tlsKeys = ['ca', 'caDirectory', 'cert', 'key', 'serverName'] as const;

/**
 * Checks the options.
 *
 * @throws {@link TritonError} INVALID_ARG.
 */
export function checkRedisOptions(given: unknown, path: string): ResolvedRedis {
  const options = readOptions<RedisCacheOptions>(
    given,
    ['host', 'port', 'user', 'password', 'db', 'connectTimeoutMs', 'poolSize', 'tls', 'ttlMs', 'prefix'],
    path,
  );
  const text = (key: 'user' | 'password' | 'prefix'): string | undefined => {
    const value = options[key];
    if (value === undefined || typeof value === 'string') return value;
    // A wrong password must not appear in a message.
    throw expected('a string', `${path}.${key}`, key === 'password' ? typeof value : value);
  };
  const whole = (
    key: 'port' | 'db' | 'connectTimeoutMs' | 'poolSize' | 'ttlMs',
    least: number,
    most: number,
  ): number | undefined => {
    const value = options[key];
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most)
      return value;
    throw expected(`an integer from ${least} to ${most}`, `${path}.${key}`, value);
  };
  const { host } = options;
  if (typeof host !== 'string' || host === '') throw expected('a name or an address', `${path}.host`, host);
  const port = whole('port', 1, 65_535);
  if (port === undefined) throw expected('an integer from 1 to 65535', `${path}.port`, port);
  return {
    ...{ host, port },
    user: text('user') ?? process.env['TRITONCACHE_REDIS_USERNAME'],
    password: text('password') ?? process.env['TRITONCACHE_REDIS_PASSWORD'],
    db: whole('db', 0, 2 ** 31 - 1) ?? 0,
    connectTimeoutMs: whole('connectTimeoutMs', 1, longestConnectMs) ?? defaultConnectMs,
    poolSize: whole('poolSize', 1, mostConnections) ?? 1,
    tls: checkTls(options.tls, `${path}.tls`),
    ttlMs: whole('ttlMs', 1, mostTtlMs),
    prefix: text('prefix') ?? 'tritonts:',
  };
}

function checkTls(given: unknown, path: string): RedisTlsOptions | undefined {
  if (given === undefined || given === false) return undefined;
  if (given === true) return {};
  const tls = readOptions<RedisTlsOptions>(given, tlsKeys, path);
  const checked: Partial<Record<(typeof tlsKeys)[number], string>> = {};
  for (const key of tlsKeys) {
    const value = tls[key];
    if (value === undefined) continue;
    if (typeof value !== 'string' || value === '') throw expected('a string', `${path}.${key}`, value);
    checked[key] = value;
  }
  if ((checked.cert === undefined) !== (checked.key === undefined))
    throw expected('cert and key together', path, given);
  return checked;
}
