/** The options of the HTTP endpoint. */

import type { TlsOptions } from 'node:tls';
import { checkObject, expected, readOptions, type Given } from '../../argument-checks.js';
import { invalidArgument } from '../../errors.js';
import { longestTimerMs } from '../../time-limit.js';
import { readRestrictions } from '../service/access.js';
import { checkClientSharedMemory, checkMaxConnections, checkReusePort } from '../service/listen-options.js';
import type { HttpListenOptions } from './http-server.js';
import { restrictedGroups, type RestrictedGroup } from './routes.js';

/**
 * Calls that only clients with a secret may make.
 *
 * @example
 * const admin: RestrictedCalls = { protocols: ['model-repository'], header: 'admin-key', value: process.env.ADMIN_KEY! };
 */
export interface RestrictedCalls {
  /** The groups of calls. A group may appear in one entry only. */
  readonly protocols: readonly RestrictedGroup[];
  /** Name of the header with the secret. */
  readonly header: string;
  /** The secret. It is compared in constant time. */
  readonly value: string;
}

/** Options of {@link httpHandler}. */
export interface HttpHandlerOptions {
  /**
   * The most bytes of a request's body, both as received and decompressed (default 64 MiB). All bodies under way
   * together may have 16 times as many; requests beyond that are answered with 503. Triton:
   * `--http-max-input-size`.
   */
  readonly maxRequestBytes?: number | undefined;
  /** Calls that need a secret (default: none). Triton: `--http-restricted-api`. */
  readonly restricted?: readonly RestrictedCalls[] | undefined;
  /**
   * Headers whose name this matches become parameters of `infer`, `generate` and `generate_stream` (default: no
   * headers). Set the flag `i` to match in any case, as Triton does by default. Triton:
   * `--http-header-forward-pattern`.
   */
  readonly headerForwardPattern?: RegExp | undefined;
  /**
   * Whether clients may register shared memory of this machine, and name it in requests (default false). They can then
   * read and write what this process may open there. Triton: `--allow-client-shm`.
   */
  readonly clientSharedMemory?: boolean | undefined;
}

/** Options of {@link serveHttp}. */
export interface ServeHttpOptions extends HttpHandlerOptions {
  /** The port to listen on (default 8000); 0: any free port. Triton: `--http-port`. */
  readonly port?: number | undefined;
  /** The address to listen on (default 127.0.0.1, which other machines cannot reach). Triton: `--http-address`. */
  readonly host?: string | undefined;
  /**
   * Whether other processes may listen on the same port (default false). The system distributes connections among
   * them. Needs Node 22.12 or newer, and Linux or FreeBSD. Triton: `--reuse-http-port`.
   */
  readonly reusePort?: boolean | undefined;
  /**
   * The most connections open at once (default: as many as the process may have open files). A further connection
   * is closed as soon as it is accepted; the others are not affected.
   */
  readonly maxConnections?: number | undefined;
  /** Whether to serve a web page at `/ui/` that shows the server (default false): docs/ui.md. */
  readonly ui?: boolean | undefined;
  /** Certificate, key and other options of `tls.createServer` (default: no TLS). */
  readonly tls?: TlsOptions | undefined;
  /**
   * How long a whole request may take to arrive, in milliseconds (default 300,000); slower requests are answered with
   * 408. A connection whose client reads nothing of a response for this time ends; each part that it reads begins the time anew.
   */
  readonly requestTimeoutMs?: number | undefined;
  /** Closes the endpoint as {@link HttpEndpoint.close} does (default: no signal). */
  readonly signal?: AbortSignal | undefined;
}

/** Checked options of a handler. */
export interface CheckedHandlerOptions {
  readonly maxRequestBytes: number;
  readonly restricted: readonly RestrictedCalls[];
  readonly headerForwardPattern: RegExp | undefined;
  readonly clientSharedMemory: boolean;
}

/** Checked options of an endpoint. */
export interface CheckedServeOptions extends CheckedHandlerOptions, HttpListenOptions {
  readonly ui: boolean;
}

const handlerKeys = [
  'maxRequestBytes',
  'restricted',
  'headerForwardPattern',
  'clientSharedMemory',
] as const satisfies readonly (keyof HttpHandlerOptions)[];
type ListenKey = Exclude<keyof ServeHttpOptions, keyof HttpHandlerOptions | 'ui'>;
/** The options of how an endpoint over HTTP listens. */
export const listenKeys: readonly ListenKey[] = [
  'port',
  'host',
  'reusePort',
  'maxConnections',
  'tls',
  'requestTimeoutMs',
  'signal',
];
const serveKeys = [
  ...handlerKeys,
  ...listenKeys,
  'ui',
] as const satisfies readonly (keyof ServeHttpOptions)[];

/** Triton's default, 64 MiB. */
const defaultRequestBytes = 64 << 20;
/** V8's longest string, which a JSON body becomes. */
const mostRequestBytes = 2 ** 29 - 25;
/** Node's default. */
const defaultRequestTimeoutMs = 300_000;

/** @throws {@link TritonError} INVALID_ARG for a size that no body can have. */
export function checkRequestBytes(value: unknown = defaultRequestBytes): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= mostRequestBytes)
    return value;
  throw expected(`an integer from 1 to ${mostRequestBytes}`, 'options.maxRequestBytes', value);
}

function readHandlerOptions({
  maxRequestBytes,
  restricted,
  headerForwardPattern,
  clientSharedMemory = false,
}: Given<HttpHandlerOptions>): CheckedHandlerOptions {
  if (headerForwardPattern !== undefined && !(headerForwardPattern instanceof RegExp))
    throw expected('a RegExp', 'options.headerForwardPattern', headerForwardPattern);
  if (headerForwardPattern?.global === true || headerForwardPattern?.sticky === true) {
    throw invalidArgument(
      'expected a RegExp without the flags g and y for options.headerForwardPattern: they make it depend on the header before',
    );
  }
  return {
    maxRequestBytes: checkRequestBytes(maxRequestBytes),
    restricted: readRestrictions(restricted, restrictedGroups),
    headerForwardPattern,
    clientSharedMemory: checkClientSharedMemory(clientSharedMemory),
  };
}

/** @throws {@link TritonError} INVALID_ARG for wrong options. */
export function checkHandlerOptions(options: unknown): CheckedHandlerOptions {
  return readHandlerOptions(readOptions<HttpHandlerOptions>(options, handlerKeys, 'HTTP options'));
}

/** Options of TLS that identify the server. Without one of them no handshake succeeds. */
const identities: readonly string[] = ['cert', 'pfx', 'SNICallback', 'pskCallback'];

function checkTls(tls: unknown): asserts tls is TlsOptions {
  checkObject(tls, 'options.tls');
  const given: Readonly<Record<string, unknown>> = { ...tls };
  if (!identities.some((name) => given[name] !== undefined))
    throw invalidArgument(`expected one of ${identities.join(', ')} in options.tls`);
}

/**
 * Checks how an endpoint listens.
 *
 * @throws {@link TritonError} INVALID_ARG for wrong options, UNSUPPORTED for options that this Node does not
 *   support.
 */
export function readListening(
  given: Given<Pick<ServeHttpOptions, ListenKey>>,
  defaultPort: number,
): HttpListenOptions {
  const {
    port = defaultPort,
    host = '127.0.0.1',
    reusePort = false,
    maxConnections,
    tls,
    requestTimeoutMs = defaultRequestTimeoutMs,
    signal,
  } = given;
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 0 || port > 65535)
    throw expected('an integer from 0 to 65535', 'options.port', port);
  if (typeof host !== 'string' || host === '') throw expected('a host name or address', 'options.host', host);
  if (tls !== undefined) checkTls(tls);
  if (typeof requestTimeoutMs !== 'number' || !(requestTimeoutMs >= 1 && requestTimeoutMs <= longestTimerMs))
    throw expected('milliseconds from 1 on', 'options.requestTimeoutMs', requestTimeoutMs);
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw expected('an AbortSignal', 'options.signal', signal);
  return {
    port,
    host,
    reusePort: checkReusePort(reusePort),
    maxConnections: checkMaxConnections(maxConnections),
    tls,
    requestTimeoutMs,
    signal,
  };
}

/** @throws {@link TritonError} As {@link checkHandlerOptions} and {@link readListening}. */
export function checkServeOptions(options: unknown): CheckedServeOptions {
  const given = readOptions<ServeHttpOptions>(options, serveKeys, 'HTTP options');
  const { ui = false } = given;
  if (typeof ui !== 'boolean') throw expected('true or false', 'options.ui', ui);
  return { ...readHandlerOptions(given), ...readListening(given, 8000), ui };
}
