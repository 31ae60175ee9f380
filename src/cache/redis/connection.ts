/**
 * A connection to Redis that is made again when it is lost. It is made in the background at the next use, and not before some
 * time has passed; until it stands, uses fail at once. So nothing waits for a Redis that is gone, and an idle connection
 * neither polls nor keeps the process alive.
 */

import { createClient, type RedisClientOptions } from 'redis';
import { thrownText } from '../../thrown-text.js';
import { endsWithin } from '../../time-limit.js';

/** How long nothing is tried after an attempt that failed: at first, and at most. */
const firstRestMs = 100;
const longestRestMs = 2000;
/** The first byte of a text of bytes in Redis' protocol. The package's own name for it cannot be imported from all versions. */
const blobString = 36;

/** What is used of a client of the package. */
export interface RedisClient {
  readonly isReady: boolean;
  on(event: 'error' | 'end', listener: (error?: unknown) => void): unknown;
  connect(): Promise<unknown>;
  ping(): Promise<unknown>;
  getRange(key: string, start: number, end: number): Promise<unknown>;
  set(
    key: string,
    value: Buffer,
    options: { readonly expiration?: { readonly type: 'PX'; readonly value: number } },
  ): Promise<unknown>;
  unref(): void;
  destroy(): void;
}

/** A client whose replies are bytes. */
function clientOf(options: RedisClientOptions): RedisClient {
  // RESP 2 is what all versions of Redis speak. The connection is made again here, not by the client, whose timers keep the
  // process alive.
  return createClient({
    ...options,
    RESP: 2,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    commandOptions: { typeMapping: { [blobString]: Buffer } },
  });
}

/** See the head of this file. */
export class RedisConnection {
  readonly #options: RedisClientOptions;
  readonly #place: string;
  readonly #limitMs: number;
  #client: RedisClient | undefined;
  /** The one that connects. */
  #opening: RedisClient | undefined;
  #connecting: Promise<void> | undefined;
  #closed = false;
  #restMs = firstRestMs;
  #notBefore = 0;
  #why = 'it was never connected';

  /**
   * @param place - Host and port, for messages.
   * @param limitMs - How long connecting may take.
   */
  constructor(options: RedisClientOptions, place: string, limitMs: number) {
    this.#options = options;
    this.#place = place;
    this.#limitMs = limitMs;
  }

  /** Connects. Rejects with the reason if that is impossible, or takes too long. */
  async connect(): Promise<void> {
    const client = clientOf(this.#options);
    this.#opening = client;
    // Every loss is an error event, too; without a listener it would end the process.
    client.on('error', (error: unknown) => {
      this.#lose(client, thrownText(error));
    });
    client.on('end', () => {
      this.#lose(client, 'the connection was closed');
    });
    let failed: Error | undefined;
    const ready = (async (): Promise<void> => {
      await client.connect();
      await client.ping();
    })().catch((error: unknown) => {
      failed = error instanceof Error ? error : new Error(thrownText(error));
    });
    const inTime = await endsWithin(ready, this.#limitMs);
    this.#opening = undefined;
    if (!inTime) failed = new Error(`it did not answer PING within ${this.#limitMs} ms`);
    if (failed === undefined && this.#closed) failed = new Error('the cache is closed');
    if (failed === undefined && !client.isReady) failed = new Error(this.#why);
    if (failed !== undefined) {
      destroy(client);
      throw failed;
    }
    // An idle connection does not keep the process alive.
    client.unref();
    this.#client = client;
    this.#restMs = firstRestMs;
  }

  /** @throws Why there is no connection now. */
  get(): RedisClient {
    if (this.#client?.isReady === true) return this.#client;
    this.#reconnect();
    throw new Error(`no connection to Redis at ${this.#place}: ${this.#why}`);
  }

  /** Gives the connection up: what was sent over it was not answered in time. */
  drop(why: string): void {
    const client = this.#client;
    if (!client) return;
    this.#lose(client, why);
    destroy(client);
  }

  /** Ends the connection, also one that is being made. */
  close(): void {
    this.#closed = true;
    for (const client of [this.#client, this.#opening]) if (client) destroy(client);
    this.#client = undefined;
  }

  #lose(client: RedisClient, why: string): void {
    this.#why = why;
    if (this.#client !== client) return;
    this.#client = undefined;
    // A client that lost its connection has no use any more.
    queueMicrotask(() => {
      destroy(client);
    });
  }

  #reconnect(): void {
    if (this.#closed || this.#connecting || performance.now() < this.#notBefore) return;
    this.#connecting = this.connect()
      .catch((error: unknown) => {
        this.#why = thrownText(error);
        this.#notBefore = performance.now() + this.#restMs;
        this.#restMs = Math.min(2 * this.#restMs, longestRestMs);
      })
      .finally(() => {
        this.#connecting = undefined;
      });
  }
}

/** Ends a client at once. What waits for it rejects. */
function destroy(client: RedisClient): void {
  try {
    client.destroy();
  } catch {
    // It is closed already.
  }
}
