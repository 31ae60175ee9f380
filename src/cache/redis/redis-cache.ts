/** The response cache in Redis, through the npm package `redis`, an optional peer dependency. */

import { readdir, readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { RedisClientOptions } from 'redis';
import { TritonError } from '../../errors.js';
import { thrownText } from '../../thrown-text.js';
import type { CachedAnswer, CachedValue, ResponseCache } from '../response-cache.js';
import type { RedisClient, RedisConnection } from './connection.js';
import type { RedisTlsOptions, ResolvedRedis } from './options.js';

/**
 * Connects to Redis, and asks it with PING.
 *
 * @param mostBytes - Values that are longer are not fetched whole.
 * @throws {@link TritonError} UNAVAILABLE without the package `redis`, INTERNAL if Redis does not answer, as in Triton.
 */
export async function openRedisCache(options: ResolvedRedis, mostBytes: number): Promise<ResponseCache> {
  const { RedisConnection: Connection } = await import('./connection.js').catch((error: unknown) => {
    throw new TritonError(
      'UNAVAILABLE',
      `cacheConfig.redis needs the package redis, which cannot be imported (${thrownText(error)}): npm install redis`,
      { cause: error },
    );
  });
  const place = `${options.host}:${options.port}`;
  const connections: RedisConnection[] = [];
  try {
    const client = await clientOptions(options);
    for (let i = 0; i < options.poolSize; i++)
      connections.push(new Connection(client, place, options.connectTimeoutMs));
    await Promise.all(connections.map((connection) => connection.connect()));
  } catch (error) {
    for (const connection of connections) connection.close();
    throw new TritonError(
      'INTERNAL',
      `cacheConfig.redis: expected a Redis server that answers at ${place}, but: ${thrownText(error)}`,
      { cause: error },
    );
  }
  return new RedisCache(connections, options, mostBytes);
}

async function clientOptions(options: ResolvedRedis): Promise<RedisClientOptions> {
  const { host, port, connectTimeoutMs: connectTimeout, user, password, db, tls } = options;
  const socket = { host, port, connectTimeout, reconnectStrategy: false } as const;
  return {
    socket: tls === undefined ? socket : { ...socket, ...(await tlsOptions(tls, host)), tls: true },
    database: db,
    // Without a password, Redis' user `default` needs no authentication.
    ...(user !== undefined && password !== undefined && { username: user }),
    ...(password !== undefined && { password }),
  };
}

async function tlsOptions(
  { ca, caDirectory, cert, key, serverName }: RedisTlsOptions,
  host: string,
): Promise<{ ca?: string[]; cert?: string; key?: string; servername?: string }> {
  const trusted = ca === undefined ? [] : [await readFile(ca, 'utf8')];
  if (caDirectory !== undefined) {
    for (const entry of (await readdir(caDirectory, { withFileTypes: true })).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    )) {
      // A link to a file counts, and other files are none of certificates.
      const text = entry.isDirectory() ? '' : await readFile(join(caDirectory, entry.name), 'utf8');
      if (text.includes('-----BEGIN CERTIFICATE-----')) trusted.push(text);
    }
  }
  return {
    ...((ca !== undefined || caDirectory !== undefined) && { ca: trusted }),
    ...(cert !== undefined && { cert: await readFile(cert, 'utf8') }),
    ...(key !== undefined && { key: await readFile(key, 'utf8') }),
    // An address is no name that a certificate could be asked for.
    ...(serverName !== undefined ? { servername: serverName } : isIP(host) === 0 && { servername: host }),
  };
}

/** See the head of this file. */
class RedisCache implements ResponseCache {
  readonly #connections: readonly RedisConnection[];
  readonly #prefix: string;
  readonly #ttlMs: number | undefined;
  readonly #mostBytes: number;
  #next = 0;

  constructor(connections: readonly RedisConnection[], { prefix, ttlMs }: ResolvedRedis, mostBytes: number) {
    this.#connections = connections;
    this.#prefix = prefix;
    this.#ttlMs = ttlMs;
    this.#mostBytes = mostBytes;
  }

  async lookup(keys: readonly string[], signal: AbortSignal): Promise<readonly CachedValue[]> {
    const [connection, client] = this.#take();
    const drop = (): void => {
      // Nothing else would free what the client keeps for commands without an answer.
      connection.drop('it did not answer in time');
    };
    signal.addEventListener('abort', drop, { once: true });
    try {
      // Commands of one turn of the event loop are sent together. GETRANGE, and not GET: whoever has written a huge value
      // under one of our keys does not fill this process.
      const found = await Promise.allSettled(
        keys.map((key) => client.getRange(`${this.#prefix}${key}`, 0, this.#mostBytes)),
      );
      return found.map((one) => valueOf(one, this.#mostBytes));
    } finally {
      signal.removeEventListener('abort', drop);
    }
  }

  async insert(entries: readonly CachedAnswer[]): Promise<void> {
    const [, client] = this.#take();
    const options =
      this.#ttlMs === undefined ? {} : { expiration: { type: 'PX' as const, value: this.#ttlMs } };
    const results = await Promise.allSettled(
      entries.map(({ key, value }) =>
        client.set(
          `${this.#prefix}${key}`,
          Buffer.from(value.buffer, value.byteOffset, value.byteLength),
          options,
        ),
      ),
    );
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  /** The connections take turns. One that is lost is passed over. */
  #take(): readonly [RedisConnection, RedisClient] {
    let lost: unknown;
    for (let i = 0; i < this.#connections.length; i++) {
      const connection = this.#connections[this.#next++ % this.#connections.length];
      if (!connection) continue;
      try {
        return [connection, connection.get()];
      } catch (error) {
        lost = error;
      }
    }
    throw lost;
  }
}

/** A value of another type than text is none of ours. Any other error is one of the connection or of the server. */
function valueOf(result: PromiseSettledResult<unknown>, mostBytes: number): CachedValue {
  if (result.status === 'rejected') {
    if (thrownText(result.reason).includes('WRONGTYPE')) return undefined;
    throw result.reason;
  }
  const { value } = result;
  if (!(value instanceof Uint8Array) || value.byteLength === 0 || value.byteLength > mostBytes)
    return undefined;
  return value;
}
