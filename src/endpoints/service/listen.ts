/** How an endpoint listens. */

import type { ListenOptions, Server } from 'node:net';
import { expected } from '../../argument-checks.js';
import { listenAdvice } from '../../listen-advice.js';
import { TritonError, unavailable } from '../../errors.js';

/** Where to listen. */
export interface Listening {
  readonly port: number;
  readonly host: string;
  /** Whether other processes may listen on the same port. */
  readonly reusePort: boolean;
  /** The most connections open at once; undefined: no limit. */
  readonly maxConnections?: number | undefined;
}

/** Whether this Node can share a port. Older versions silently ignore the option. */
export function canReusePort(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
}

/**
 * Checks an option `reusePort`.
 *
 * @throws {@link TritonError} INVALID_ARG for anything but a boolean, UNSUPPORTED if this Node cannot share ports.
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
 * @throws {@link TritonError} INVALID_ARG for an invalid number.
 */
export function checkMaxConnections(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
  throw expected('an integer of at least 1', 'options.maxConnections', value);
}

/**
 * Begins to listen.
 *
 * @param what - The protocol's name, for the error.
 * @throws {@link TritonError} UNAVAILABLE if it cannot listen on the port.
 */
export function listen(
  what: string,
  server: Server,
  { port, host, reusePort, maxConnections }: Listening,
): Promise<void> {
  if (maxConnections !== undefined) server.maxConnections = maxConnections;
  return new Promise((resolve, reject) => {
    // This listener stays, so that later errors (a failed accept, say) end neither the endpoint nor the process.
    server.on('error', (cause) => {
      reject(
        unavailable(
          'SYSTEM_REFUSED',
          `${what} cannot be served on ${host}, port ${port}: ${cause.message}${listenAdvice(cause)}`,
          { cause },
        ),
      );
    });
    // The types are for Node 20, which has no reusePort.
    const where: ListenOptions & { readonly reusePort?: boolean } = {
      port,
      host,
      ...(reusePort && { reusePort }),
    };
    server.listen(where, resolve);
  });
}
