/** The options of a connection to a server. */

import { validateHeaderName, validateHeaderValue, type OutgoingHttpHeaders } from 'node:http';
import type { ConnectionOptions } from 'node:tls';
import { checkObject, expected, readOptions, show } from '../argument-checks.js';
import { invalidArgument } from '../errors.js';
import { mostMessageBytes } from '../protocol/grpc/framing.js';
import { longestTimerMs } from '../time-limit.js';

/**
 * Options of {@link connectServer}.
 *
 * @example
 * const server = await connectServer('http://localhost:8000', { headers: { 'admin-key': secret }, timeoutMs: 5000 });
 */
export interface ConnectOptions {
  /** Headers of each request, such as the secrets of restricted APIs (default: none). */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The maximum number of open connections; further requests wait for one (default 64). */
  readonly maxConnections?: number | undefined;
  /**
   * How long a call may take, in milliseconds (default 60,000; 0: no limit). After that time it rejects with
   * UNAVAILABLE, and the server may cancel it. Of `stream` it limits the silence instead: the time until the first response,
   * and between two. It does not pass while the reader holds the stream up. For one request, and for all of a stream, use
   * `signal: AbortSignal.timeout(ms)`.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * How many times a read-only call is retried if there is no connection, or if it breaks (default 2). `infer`,
   * `stream`, `loadModel` and `unloadModel` are not retried, because the server may have executed them. The
   * exception is a gRPC server that reports that it has not processed the call.
   */
  readonly retries?: number | undefined;
  /**
   * Over gRPC: how long a connection may receive nothing before it is pinged, in milliseconds (default 10,000).
   * With calls in progress it is pinged twice, and then every five minutes, as servers allow. Without calls it
   * is pinged once after the last call. Triton's client: `keepalive_time_ms`.
   */
  readonly keepaliveTimeMs?: number | undefined;
  /**
   * Over gRPC: how long the answer to a ping may take, in milliseconds (default 20,000). After that time the
   * connection is closed. Its calls reject with UNAVAILABLE, or are retried as after any other broken
   * connection. Triton's client: `keepalive_timeout_ms`.
   */
  readonly keepaliveTimeoutMs?: number | undefined;
  /**
   * The maximum size of an answer, in bytes; over gRPC, of one message (default and maximum: 2 GiB - 1). A call
   * with a larger answer rejects with UNSUPPORTED, and the rest of the answer is not read.
   */
  readonly maxResponseBytes?: number | undefined;
  /** Certificates and keys for `https:` and `grpcs:`, as `tls.connect` takes them (default: Node's). */
  readonly tls?: ConnectionOptions | undefined;
  /** Closes the connection as `close({ timeoutMs: 0 })` does (default: none). */
  readonly signal?: AbortSignal | undefined;
}

/** Options with all defaults filled in. */
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

/**
 * Checks options and fills in defaults.
 *
 * @throws {@link TritonError} INVALID_ARG for wrong options.
 */
export function checkConnectOptions(options: unknown): CheckedConnectOptions {
  const {
    headers = {},
    maxConnections = 64,
    timeoutMs = 60_000,
    retries = 2,
    keepaliveTimeMs = 10_000,
    keepaliveTimeoutMs = 20_000,
    maxResponseBytes = mostMessageBytes,
    tls = {},
    signal,
  } = readOptions<ConnectOptions>(options, keys, 'connect options');
  checkObject(headers, 'options.headers');
  for (const [name, value] of Object.entries(headers) as [string, unknown][]) checkHeader(name, value);
  checkObject(tls, 'options.tls');
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw expected('an AbortSignal', 'options.signal', signal);
  return {
    // The values are checked above.
    headers: { ...(headers as Readonly<Record<string, string>>) },
    maxConnections: integer(maxConnections, 1, 'options.maxConnections'),
    timeoutMs: Math.min(integer(timeoutMs, 0, 'options.timeoutMs'), longestTimerMs),
    retries: integer(retries, 0, 'options.retries'),
    keepaliveTimeMs: Math.min(integer(keepaliveTimeMs, 1, 'options.keepaliveTimeMs'), longestTimerMs),
    keepaliveTimeoutMs: Math.min(
      integer(keepaliveTimeoutMs, 1, 'options.keepaliveTimeoutMs'),
      longestTimerMs,
    ),
    maxResponseBytes: Math.min(integer(maxResponseBytes, 1, 'options.maxResponseBytes'), mostMessageBytes),
    tls: { ...tls },
    signal,
  };
}
