/** Turns flags into the settings of the gRPC endpoint. */

import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { checkGrpcOptions } from '../../endpoints/grpc/options.js';
import { grpcRestrictedGroups } from '../../endpoints/grpc/methods.js';
import type { ServeGrpcOptions } from '../../endpoints/grpc/serve.js';
import { invalidArgument } from '../../errors.js';
import type { FlagValues } from './parse-flags.js';
import { readPattern, readRestricted } from './restricted.js';
import { thrownText } from '../../thrown-text.js';

/** See the head of this file. */
export interface GrpcSettings {
  readonly options: ServeGrpcOptions;
  /** Files with the certificate, the key, and the authority for clients' certificates; undefined: no TLS. */
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string | undefined } | undefined;
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

/**
 * Reads the gRPC endpoint's flags; undefined if gRPC is not served.
 *
 * @throws {@link TritonError} INVALID_ARG for invalid values or combinations.
 */
export function grpcSettings(values: FlagValues): GrpcSettings | undefined {
  const options: ServeGrpcOptions = {
    host: values.text('grpc-address'),
    port: values.integer('grpc-port'),
    reusePort: values.boolean('reuse-grpc-port'),
    maxConnections: values.givenInteger('grpc-max-connections'),
    restricted: readRestricted(
      'grpc-restricted-protocol',
      values,
      grpcRestrictedGroups,
      'triton-grpc-protocol-',
    ),
    headerForwardPattern: readPattern('grpc-header-forward-pattern', values),
    clientSharedMemory: values.boolean('allow-client-shm'),
    responseCompression: levels.find(
      (level) => level === values.text('grpc-infer-response-compression-level'),
    ),
    keepaliveTimeMs: values.integer('grpc-keepalive-time'),
    keepaliveTimeoutMs: values.integer('grpc-keepalive-timeout'),
    keepalivePermitWithoutCalls: values.boolean('grpc-keepalive-permit-without-calls'),
    maxPingsWithoutData: values.integer('grpc-http2-max-pings-without-data'),
    minPingIntervalWithoutDataMs: values.integer('grpc-http2-min-recv-ping-interval-without-data'),
    maxPingStrikes: values.integer('grpc-http2-max-ping-strikes'),
    // As in gRPC, 0 means no limit.
    maxConnectionAgeMs: values.givenInteger('grpc-max-connection-age') || undefined,
    maxConnectionAgeGraceMs: values.givenInteger('grpc-max-connection-age-grace'),
  };
  const tls = tlsFiles(values);
  if (!values.boolean('allow-grpc')) return undefined;
  // Check now, so that errors are reported before models are loaded.
  checkGrpcOptions(options);
  return { options, tls };
}

async function read(flag: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    const why = thrownText(cause);
    throw invalidArgument(`--${flag}: cannot read '${file}': ${why}`, { cause });
  }
}

/** Checks that TLS accepts the files. TLS's own errors do not name them. */
function checkPem(files: SecureContextOptions, names: string): void {
  try {
    createSecureContext(files);
  } catch (cause) {
    const why = thrownText(cause);
    throw invalidArgument(`${names}: expected PEM files that fit each other: ${why}`, { cause });
  }
}

/**
 * The options with the contents of the files that they name.
 *
 * @throws {@link TritonError} INVALID_ARG for a file that cannot be read, or that TLS does not accept.
 */
export async function grpcOptions({ options, tls }: GrpcSettings): Promise<ServeGrpcOptions> {
  if (tls === undefined) return options;
  const [cert, key] = await Promise.all([
    read('grpc-server-cert', tls.cert),
    read('grpc-server-key', tls.key),
  ]);
  const ca = tls.ca === undefined ? undefined : await read('grpc-root-cert', tls.ca);
  checkPem({ cert }, `--grpc-server-cert '${tls.cert}'`);
  checkPem({ cert, key }, `--grpc-server-key '${tls.key}' with --grpc-server-cert '${tls.cert}'`);
  if (tls.ca !== undefined) checkPem({ ca }, `--grpc-root-cert '${tls.ca}'`);
  return {
    ...options,
    tls: { cert, key, ...(ca !== undefined && { ca, requestCert: true, rejectUnauthorized: true }) },
  };
}
