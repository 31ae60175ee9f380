/** The options of the gRPC endpoint. */

import type { TlsOptions } from 'node:tls';
import { checkObject, expected, readOptions } from '../../argument-checks.js';
import { invalidArgument } from '../../errors.js';
import { mostMessageBytes } from '../../protocol/grpc/framing.js';
import { longestTimerMs } from '../../time-limit.js';
import { readRestrictions } from '../service/access.js';
import { checkClientSharedMemory, checkMaxConnections, checkReusePort } from '../service/listen-options.js';
import type { Restriction } from '../service/access.js';
import type { CompressionLevel } from './compression.js';
import { grpcRestrictedGroups, type GrpcRestrictedGroup } from './methods.js';

/**
 * RPCs that only clients with a secret may call.
 *
 * @example
 * const admin: RestrictedRpcs = { protocols: ['model-repository'], header: 'admin-key', value: process.env.ADMIN_KEY! };
 */
export interface RestrictedRpcs {
  /** The groups of RPCs. A group may appear in one entry only. */
  readonly protocols: readonly GrpcRestrictedGroup[];
  /**
   * Name of the metadata entry with the secret, exactly as clients send it. tritonserver puts
   * `triton-grpc-protocol-` before the key of its flag; include that prefix here if clients send it.
   */
  readonly header: string;
  /** The secret. It is compared in constant time. */
  readonly value: string;
}

/**
 * Options of {@link serveGrpc}.
 *
 * @example
 * const options: ServeGrpcOptions = { port: 8001, host: '0.0.0.0', maxRequestBytes: 64 << 20 };
 */
export interface ServeGrpcOptions {
  /** The port to listen on (default 8001); 0: any free port. Triton: `--grpc-port`. */
  readonly port?: number | undefined;
  /** The address to listen on (default 127.0.0.1, which other machines cannot reach). Triton: `--grpc-address`. */
  readonly host?: string | undefined;
  /**
   * Whether other processes may listen on the same port (default false). The system distributes connections among
   * them. Needs Node 22.12 or newer, and Linux or BSD. Triton: `--reuse-grpc-port`.
   */
  readonly reusePort?: boolean | undefined;
  /**
   * Certificate, key and other options of `tls.createServer` (default: no TLS). With `ca` and `requestCert: true`
   * clients need certificates, too. Triton: `--grpc-use-ssl`, `--grpc-use-ssl-mutual`, `--grpc-server-cert`,
   * `--grpc-server-key`, `--grpc-root-cert`.
   */
  readonly tls?: TlsOptions | undefined;
  /** The most bytes of a message, both as received and decompressed (default 2^31 - 1, as in Triton). */
  readonly maxRequestBytes?: number | undefined;
  /**
   * The most bytes of messages held at once (default 2 GiB): requests that arrive or wait for their answers, and
   * answers not yet sent. Requests beyond this limit fail with UNAVAILABLE.
   */
  readonly maxHeldBytes?: number | undefined;
  /**
   * How long nothing may arrive of a message that has begun, and nothing be read of an answer, in milliseconds (default
   * 300,000). It is checked with a precision of one eighth. Then the call ends with DEADLINE_EXCEEDED, or without a status if
   * the client does not read its answer. A stream that waits for its model, or for requests, has no limit.
   */
  readonly requestTimeoutMs?: number | undefined;
  /**
   * The most connections open at once (default: as many as the process may have open files). A further connection
   * is closed as soon as it is accepted; the others are not affected.
   */
  readonly maxConnections?: number | undefined;
  /** The most calls under way on a connection (default 1000); clients delay further calls. */
  readonly maxConcurrentStreams?: number | undefined;
  /** RPCs that need a secret (default: none). Triton: `--grpc-restricted-protocol`. */
  readonly restricted?: readonly RestrictedRpcs[] | undefined;
  /**
   * Metadata whose name this matches becomes parameters of ModelInfer and ModelStreamInfer (default: no metadata).
   * Names are lower case. Triton: `--grpc-header-forward-pattern`.
   */
  readonly headerForwardPattern?: RegExp | undefined;
  /**
   * Whether clients may register shared memory of this machine, and name it in requests (default false). They can then
   * read and write what this process may open there. Triton: `--allow-client-shm`.
   */
  readonly clientSharedMemory?: boolean | undefined;
  /**
   * The compression level of answers of ModelInfer and ModelStreamInfer, for clients that accept compression
   * (default 'none'). Triton: `--grpc-infer-response-compression-level`.
   */
  readonly responseCompression?: 'none' | 'low' | 'medium' | 'high' | undefined;
  /**
   * A connection is pinged after this number of milliseconds without a message (default 7,200,000). Triton:
   * `--grpc-keepalive-time`.
   */
  readonly keepaliveTimeMs?: number | undefined;
  /**
   * The connection ends if the ping is not answered within this number of milliseconds (default 20,000). Triton:
   * `--grpc-keepalive-timeout`.
   */
  readonly keepaliveTimeoutMs?: number | undefined;
  /**
   * Whether the endpoint pings connections without calls, and their clients may ping (default false). Triton:
   * `--grpc-keepalive-permit-without-calls`.
   */
  readonly keepalivePermitWithoutCalls?: boolean | undefined;
  /**
   * How many pings are sent while no message is sent or received (default 2; 0: no limit). Triton:
   * `--grpc-http2-max-pings-without-data`.
   */
  readonly maxPingsWithoutData?: number | undefined;
  /**
   * The least time between a client's pings while no data is sent to it, in milliseconds (default 300,000). Triton:
   * `--grpc-http2-min-recv-ping-interval-without-data`.
   */
  readonly minPingIntervalWithoutDataMs?: number | undefined;
  /**
   * How many pings may come too early before the connection ends (default 2; 0: no limit). Triton:
   * `--grpc-http2-max-ping-strikes`.
   */
  readonly maxPingStrikes?: number | undefined;
  /** The maximum age of a connection, in milliseconds (default: no limit). Triton: `--grpc-max-connection-age`. */
  readonly maxConnectionAgeMs?: number | undefined;
  /**
   * How long the calls of a connection beyond that age may go on, in milliseconds (default: no limit). Triton:
   * `--grpc-max-connection-age-grace`.
   */
  readonly maxConnectionAgeGraceMs?: number | undefined;
  /** Closes the endpoint as {@link GrpcEndpoint.close} does (default: no signal). */
  readonly signal?: AbortSignal | undefined;
}

/** Checked options. */
export interface CheckedGrpcOptions {
  readonly port: number;
  readonly host: string;
  readonly reusePort: boolean;
  readonly tls: TlsOptions | undefined;
  readonly maxRequestBytes: number;
  readonly maxHeldBytes: number;
  readonly requestTimeoutMs: number;
  readonly maxConnections: number | undefined;
  readonly maxConcurrentStreams: number;
  readonly restricted: readonly Restriction[];
  readonly headerForwardPattern: RegExp | undefined;
  readonly clientSharedMemory: boolean;
  readonly responseCompression: CompressionLevel;
  readonly keepaliveTimeMs: number;
  readonly keepaliveTimeoutMs: number;
  readonly keepalivePermitWithoutCalls: boolean;
  readonly maxPingsWithoutData: number;
  readonly minPingIntervalWithoutDataMs: number;
  readonly maxPingStrikes: number;
  readonly maxConnectionAgeMs: number | undefined;
  readonly maxConnectionAgeGraceMs: number | undefined;
  readonly signal: AbortSignal | undefined;
}

const keys = [
  ...([
    'port',
    'host',
    'tls',
    'maxRequestBytes',
    'reusePort',
    'maxHeldBytes',
    'requestTimeoutMs',
    'maxConnections',
    'maxConcurrentStreams',
  ] as const),
  ...([
    'restricted',
    'headerForwardPattern',
    'clientSharedMemory',
    'responseCompression',
    'keepaliveTimeMs',
    'keepaliveTimeoutMs',
  ] as const),
  ...([
    'keepalivePermitWithoutCalls',
    'maxPingsWithoutData',
    'minPingIntervalWithoutDataMs',
    'maxPingStrikes',
  ] as const),
  ...(['maxConnectionAgeMs', 'maxConnectionAgeGraceMs', 'signal'] as const),
] satisfies readonly (keyof ServeGrpcOptions)[];

const defaultHeldBytes = 2 ** 31;
/** The most of a count: Triton's flags are 32-bit integers. */
const mostCount = 2 ** 31 - 1;

function integer(name: keyof ServeGrpcOptions, value: unknown, least: number, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw expected(`an integer from ${least} to ${most}`, `options.${name}`, value);
}

function milliseconds(name: keyof ServeGrpcOptions, value: unknown, least: number): number {
  if (typeof value === 'number' && value >= least && value <= longestTimerMs) return value;
  throw expected(`milliseconds from ${least} to 2^31 - 1`, `options.${name}`, value);
}

function pattern(value: unknown): RegExp | undefined {
  if (value === undefined) return undefined;
  if (!(value instanceof RegExp)) throw expected('a RegExp', 'options.headerForwardPattern', value);
  if (!value.global && !value.sticky) return value;
  throw invalidArgument(
    'expected a RegExp without the flags g and y for options.headerForwardPattern: they make it depend on the metadata before',
  );
}

const levels = ['none', 'low', 'medium', 'high'] as const satisfies readonly CompressionLevel[];

/** @throws {@link TritonError} INVALID_ARG for wrong options. */
export function checkGrpcOptions(options: unknown): CheckedGrpcOptions {
  const given = readOptions<ServeGrpcOptions>(options, keys, 'gRPC options');
  const { port = 8001, host = '127.0.0.1', tls, signal } = given;
  const { maxRequestBytes = mostMessageBytes, maxHeldBytes = defaultHeldBytes } = given;
  const { requestTimeoutMs = 300_000, maxConcurrentStreams = 1000, responseCompression = 'none' } = given;
  const {
    keepaliveTimeMs = 7_200_000,
    keepaliveTimeoutMs = 20_000,
    keepalivePermitWithoutCalls = false,
  } = given;
  const { maxPingsWithoutData = 2, minPingIntervalWithoutDataMs = 300_000, maxPingStrikes = 2 } = given;
  const { maxConnectionAgeMs, maxConnectionAgeGraceMs } = given;
  if (typeof host !== 'string' || host === '') throw expected('a host name or address', 'options.host', host);
  if (tls !== undefined) checkObject(tls, 'options.tls');
  const level = levels.find((one) => one === responseCompression);
  if (level === undefined)
    throw expected(`one of ${levels.join(', ')}`, 'options.responseCompression', responseCompression);
  if (typeof keepalivePermitWithoutCalls !== 'boolean')
    throw expected('true or false', 'options.keepalivePermitWithoutCalls', keepalivePermitWithoutCalls);
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw expected('an AbortSignal', 'options.signal', signal);
  const time = (name: keyof ServeGrpcOptions, value: unknown, least: number): number | undefined =>
    value === undefined ? undefined : milliseconds(name, value, least);
  return {
    port: integer('port', port, 0, 65535),
    host,
    reusePort: checkReusePort(given.reusePort ?? false),
    tls,
    maxRequestBytes: integer('maxRequestBytes', maxRequestBytes, 1, mostMessageBytes),
    maxHeldBytes: integer('maxHeldBytes', maxHeldBytes, 1, Number.MAX_SAFE_INTEGER),
    requestTimeoutMs: milliseconds('requestTimeoutMs', requestTimeoutMs, 1),
    maxConnections: checkMaxConnections(given.maxConnections),
    maxConcurrentStreams: integer('maxConcurrentStreams', maxConcurrentStreams, 1, mostCount),
    restricted: readRestrictions(given.restricted, grpcRestrictedGroups),
    headerForwardPattern: pattern(given.headerForwardPattern),
    clientSharedMemory: checkClientSharedMemory(given.clientSharedMemory ?? false),
    responseCompression: level,
    keepaliveTimeMs: milliseconds('keepaliveTimeMs', keepaliveTimeMs, 1),
    keepaliveTimeoutMs: milliseconds('keepaliveTimeoutMs', keepaliveTimeoutMs, 1),
    keepalivePermitWithoutCalls,
    maxPingsWithoutData: integer('maxPingsWithoutData', maxPingsWithoutData, 0, mostCount),
    minPingIntervalWithoutDataMs: milliseconds(
      'minPingIntervalWithoutDataMs',
      minPingIntervalWithoutDataMs,
      0,
    ),
    maxPingStrikes: integer('maxPingStrikes', maxPingStrikes, 0, mostCount),
    maxConnectionAgeMs: time('maxConnectionAgeMs', maxConnectionAgeMs, 1),
    maxConnectionAgeGraceMs: time('maxConnectionAgeGraceMs', maxConnectionAgeGraceMs, 0),
    signal,
  };
}
