/** The options of a connection to a server. */

import { validateHeaderName, validateHeaderValue, type OutgoingHttpHeaders } from 'node:http';
import type { ConnectionOptions } from 'node:tls';
import { checkObject, expected, readOptions, show } from '../argument-checks.js';
import { invalidArgument } from '../errors.js';

/**
 * Options of {@link connectServer}.
 *
 * @example
 * const server = await connectServer('http://localhost:8000', { headers: { 'admin-key': secret }, timeoutMs: 5000 });
 */
export interface ConnectOptions {
  /** Headers of each request, such as the secrets of restricted calls (default: none). */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How many connections are open at most; requests beyond wait for one (default 64). */
  readonly maxConnections?: number | undefined;
  /**
   * How long a call may take, in milliseconds (default 60,000; 0: any time). Then it rejects with UNAVAILABLE, and a
   * server that notices cancels it. For one request use `signal: AbortSignal.timeout(ms)`.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * How often a call that only reads is tried again where there is no connection, or it breaks (default 2). `infer`, `loadModel` and
   * `unloadModel` never are: the server may have done them.
   */
  readonly retries?: number | undefined;
  /**
   * Over gRPC: a connection on which nothing came for so long is pinged, in milliseconds (default 10,000): with calls twice, and
   * then every five minutes, as servers allow; without calls once after the last one. Triton's client: `keepalive_time_ms`.
   */
  readonly keepaliveTimeMs?: number | undefined;
  /**
   * Over gRPC: how long the answer to a ping may take, in milliseconds (default 20,000). Then the connection ends, and its calls
   * reject with UNAVAILABLE, or are tried again as after any other loss. Triton's client: `keepalive_timeout_ms`.
   */
  readonly keepaliveTimeoutMs?: number | undefined;
  /**
   * The most bytes of an answer, over gRPC of one message of it (default and limit: 2 GiB - 1). A larger one is UNSUPPORTED, and the
   * rest of it is not read.
   */
  readonly maxResponseBytes?: number | undefined;
  /** For `https:` certificates and keys, as `tls.connect` takes them (default: Node's). */
  readonly tls?: ConnectionOptions | undefined;
  /** Closes the connection as `close({ timeoutMs: 0 })` does (default: nothing does). */
  readonly signal?: AbortSignal | undefined;
}

/** Options with every default in place. */
export interface CheckedConnectOptions {
  readonly headers: OutgoingHttpHeaders;
  readonly maxConnections: number;
  readonly timeoutMs: number;
  readonly retries: number;
  readonly keepaliveTimeMs: number;
  readonly keepaliveTimeoutMs: number;
  readonly maxResponseBytes: number;
  readonly tls: NonNullable<ConnectOptions['tls']>;
  readonly signal: AbortSignal | undefined;
}

const keys = [
  'headers',
  'maxConnections',
  'timeoutMs',
  'retries',
  'keepaliveTimeMs',
  'keepaliveTimeoutMs',
  'maxResponseBytes',
  'tls',
  'signal',
] as const satisfies readonly (keyof ConnectOptions)[];

/** What a message of gRPC has at most. */
const mostResponseBytes = 2 ** 31 - 1;

/** The longest that a timer takes. */
const longestMs = 2 ** 31 - 1;

function integer(value: unknown, least: number, path: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value;
  throw expected(`an integer of at least ${least}`, path, value);
}

function checkHeader(name: string, value: unknown): void {
  const path = `options.headers['${name}']`;
  if (typeof value !== 'string') throw expected('a string', path, value);
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : show(cause);
    throw invalidArgument(`${path} cannot be sent: ${why}`, { cause });
  }
}

/** @throws {@link TritonError} INVALID_ARG for wrong options. */
export function checkConnectOptions(options: unknown): CheckedConnectOptions {
  const {
    headers = {},
    maxConnections = 64,
    timeoutMs = 60_000,
    retries = 2,
    keepaliveTimeMs = 10_000,
    keepaliveTimeoutMs = 20_000,
    maxResponseBytes = mostResponseBytes,
    tls = {},
    signal,
  } = readOptions<ConnectOptions>(options, keys, 'connect options');
  checkObject(headers, 'options.headers');
  for (const [name, value] of Object.entries(headers) as [string, unknown][]) checkHeader(name, value);
  checkObject(tls, 'options.tls');
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw expected('an AbortSignal', 'options.signal', signal);
  return {
    // Their values were checked just above.
    headers: { ...(headers as Readonly<Record<string, string>>) },
    maxConnections: integer(maxConnections, 1, 'options.maxConnections'),
    timeoutMs: Math.min(integer(timeoutMs, 0, 'options.timeoutMs'), longestMs),
    retries: integer(retries, 0, 'options.retries'),
    keepaliveTimeMs: Math.min(integer(keepaliveTimeMs, 1, 'options.keepaliveTimeMs'), longestMs),
    keepaliveTimeoutMs: Math.min(integer(keepaliveTimeoutMs, 1, 'options.keepaliveTimeoutMs'), longestMs),
    maxResponseBytes: Math.min(integer(maxResponseBytes, 1, 'options.maxResponseBytes'), mostResponseBytes),
    tls: { ...tls },
    signal,
  };
}
