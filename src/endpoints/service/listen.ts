/** How an endpoint listens. */

import type { ListenOptions, Server } from 'node:net';
import { expected } from '../../argument-checks.js';
import { listenAdvice } from '../../listen-advice.js';
import { TritonError, unavailable } from '../../errors.js';

/** Where to listen. */
export interface Listening {
  readonly port: number;
  readonly host: string;
  /** Whether other processes may listen there, too. */
  readonly reusePort: boolean;
  /** The most connections that are open at once; undefined: any number. */
  readonly maxConnections?: number | undefined;
}

/** Whether this Node can share a port. Older versions ignore the option without a word. */
export function canReusePort(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
}

/**
 * Checks an option `reusePort`.
 *
 * @throws {@link TritonError} INVALID_ARG for anything but a boolean, UNSUPPORTED where this Node cannot do it.
 */
export function checkReusePort(reusePort: unknown): boolean {
  if (typeof reusePort !== 'boolean') throw expected('true or false', 'options.reusePort', reusePort);
  if (!reusePort || canReusePort()) return reusePort;
  throw new TritonError(
    'UNSUPPORTED',
    `options.reusePort needs Node 22.12 or newer; this is ${process.version}`,
  );
}

/**
 * Checks an option `maxConnections`.
 *
 * @throws {@link TritonError} INVALID_ARG for what is no number of connections.
 */
export function checkMaxConnections(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
  throw expected('an integer of at least 1', 'options.maxConnections', value);
}

/**
 * Begins to listen.
 *
 * @param what - What is served, for the error.
 * @throws {@link TritonError} UNAVAILABLE where the port cannot be had.
 */
export function listen(
  what: string,
  server: Server,
  { port, host, reusePort, maxConnections }: Listening,
): Promise<void> {
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  return new Promise((resolve, reject) => {
    // It stays: later errors, as of a connection that cannot be accepted, end neither the endpoint nor the process.
    server.on('error', (cause) => {
      reject(
        unavailable(
          'SYSTEM_REFUSED',
          `${what} cannot be served on ${host}, port ${port}: ${cause.message}${listenAdvice(cause)}`,
          { cause },
        ),
      );
    });
    // The types are those of Node 20, which does not know reusePort.
    const where: ListenOptions & { readonly reusePort?: boolean } = {
      port,
      host,
      ...(reusePort && { reusePort }),
    };
    server.listen(where, resolve);
  });
}
