/** Ports that several threads of this process listen on. */

import { createServer, type AddressInfo } from 'node:net';
import { listen, type Listening } from '../../../listen.js';

/** The address to listen on, from an endpoint's options. */
type Given = { readonly [K in keyof Listening]?: Listening[K] | undefined };

/**
 * Returns an address that all threads can listen on. If others may not share the port, it is first checked to
 * be free. Otherwise another process of the same user could already share it, and nobody would be told.
 *
 * @param what - Name of the endpoint, for the error.
 * @throws {@link TritonError} UNAVAILABLE if the port is not available.
 */
export async function sharedPort(
  what: string,
  { host = '0.0.0.0', port = 0, reusePort = false }: Given,
): Promise<Listening> {
  const probe = createServer();
  await listen(what, probe, { host, port, reusePort });
  // A TCP server's address is not a pipe's name.
  const found = (probe.address() as AddressInfo).port;
  await new Promise((resolve) => probe.close(resolve));
  return { host, port: found, reusePort: true };
}
