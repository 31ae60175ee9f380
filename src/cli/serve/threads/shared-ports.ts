/** Ports that several threads of this process listen on. */

import { createServer, type AddressInfo } from 'node:net';
import { listen, type Listening } from '../../../endpoints/service/listen.js';

/** Where to listen, as options say it. */
type Given = { readonly [K in keyof Listening]?: Listening[K] | undefined };

/**
 * Where all threads can listen. A port that others may not share is looked at first: what the threads share, another process
 * of the same user could share, too, and nobody would be told.
 *
 * @param what - What is served, for the error.
 * @throws {@link TritonError} UNAVAILABLE where the port cannot be had.
 */
export async function sharedPort(
  what: string,
  { host = '0.0.0.0', port = 0, reusePort = false }: Given,
): Promise<Listening> {
  const probe = createServer();
  await listen(what, probe, { host, port, reusePort });
  // Not a pipe's name: it listens on a port.
  const found = (probe.address() as AddressInfo).port;
  await new Promise((resolve) => probe.close(resolve));
  return { host, port: found, reusePort: true };
}
