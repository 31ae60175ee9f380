/** How an endpoint listens. */

import type { ListenOptions, Server } from 'node:net';
import { unavailable } from './errors.js';

const taken =
  'another program, or another endpoint of this one, has the port: end it, or take another port (0: any that is free)';
const foreign = "the address is not this machine's: take one of its own, or 0.0.0.0 for all";

/** Advice by the system's error code. */
const advice: ReadonlyMap<string | undefined, string> = new Map([
  ['EADDRINUSE', taken],
  ['EACCES', 'ports below 1024 need a privilege: take a higher one'],
  ['EADDRNOTAVAIL', foreign],
  ['ENOTFOUND', foreign],
  ['EAI_AGAIN', foreign],
]);

/** The end of the message about an error: advice, or nothing if there is none. */
function adviceFor({ code }: NodeJS.ErrnoException): string {
  const words = advice.get(code);
  return words === undefined ? '' : `: ${words}`;
}

/** Where to listen. */
export interface Listening {
  readonly port: number;
  readonly host: string;
  /** Whether other processes may listen on the same port. */
  readonly reusePort: boolean;
  /** The most connections open at once; undefined: no limit. */
  readonly maxConnections?: number | undefined;
}

/**
 * Begins to listen.
 *
 * @param what - What is served, for the error.
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
          `${what} cannot be served on ${host}, port ${port}: ${cause.message}${adviceFor(cause)}`,
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
