/** What the flags set of the gRPC endpoint. */

import { invalidArgument } from '../../errors.js';
import type { FlagValues } from './parse-flags.js';
import { readPattern, readRestricted, type RestrictedApis } from './restricted.js';

/** See the head of this file. Files are named, not read. */
export interface GrpcSettings {
  readonly host: string;
  readonly port: number;
  readonly reusePort: boolean;
  readonly restricted: readonly RestrictedApis[];
  readonly headerForwardPattern: RegExp | undefined;
  readonly compression: 'none' | 'low' | 'medium' | 'high';
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string | undefined } | undefined;
  readonly keepAlive: {
    readonly timeMs: number;
    readonly timeoutMs: number;
    readonly permitWithoutCalls: boolean;
    readonly maxPingsWithoutData: number;
    readonly minPingIntervalMs: number;
    readonly maxPingStrikes: number;
  };
  readonly maxConnectionAgeMs: number | undefined;
  readonly maxConnectionAgeGraceMs: number | undefined;
}

function tlsFiles(values: FlagValues): GrpcSettings['tls'] {
  const mutual = values.boolean('grpc-use-ssl-mutual');
  if (!mutual && !values.boolean('grpc-use-ssl')) return undefined;
  const needed = (name: string): string => {
    const file = values.text(name);
    if (file !== undefined) return file;
    throw invalidArgument(`--grpc-use-ssl${mutual ? '-mutual' : ''} needs --${name}`);
  };
  return {
    cert: needed('grpc-server-cert'),
    key: needed('grpc-server-key'),
    ca: mutual ? needed('grpc-root-cert') : undefined,
  };
}

const levels = ['none', 'low', 'medium', 'high'] as const;

/** @throws {@link TritonError} INVALID_ARG for values that do not fit together. */
export function grpcSettings(values: FlagValues): GrpcSettings | undefined {
  const settings: GrpcSettings = {
    host: values.text('grpc-address') ?? '',
    port: values.integer('grpc-port'),
    reusePort: values.boolean('reuse-grpc-port'),
    restricted: readRestricted('grpc-restricted-protocol', values, 'triton-grpc-protocol-'),
    headerForwardPattern: readPattern('grpc-header-forward-pattern', values),
    compression:
      levels.find((level) => level === values.text('grpc-infer-response-compression-level')) ?? 'none',
    tls: tlsFiles(values),
    keepAlive: {
      timeMs: values.integer('grpc-keepalive-time'),
      timeoutMs: values.integer('grpc-keepalive-timeout'),
      permitWithoutCalls: values.boolean('grpc-keepalive-permit-without-calls'),
      maxPingsWithoutData: values.integer('grpc-http2-max-pings-without-data'),
      minPingIntervalMs: values.integer('grpc-http2-min-recv-ping-interval-without-data'),
      maxPingStrikes: values.integer('grpc-http2-max-ping-strikes'),
    },
    maxConnectionAgeMs: values.givenInteger('grpc-max-connection-age'),
    maxConnectionAgeGraceMs: values.givenInteger('grpc-max-connection-age-grace'),
  };
  return values.boolean('allow-grpc') ? settings : undefined;
}
