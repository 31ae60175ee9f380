/**
 * Tells whether a browser of this machine was led to it by a name of another site (DNS rebinding): a page of
 * `other.site:8000`, whose name then leads to 127.0.0.1, is of the same origin as this server for the browser.
 */

import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { TLSSocket } from 'node:tls';

const loopback = /^(127\.|::1$|::ffff:127\.)/;

/** The port of a Host without one. */
const defaultPort = 80;

function isOwnName(name: string): boolean {
  const lower = name.toLowerCase().replace(/\.$/, '');
  return lower === 'localhost' || lower.endsWith('.localhost') || lower === hostname().toLowerCase();
}

/**
 * The name by which a request asks for another site; undefined: it does not, or it came another way.
 *
 * - Only connections within this machine are checked. Which names lead here from other machines is not known.
 * - The port of the Host is that of the connection if a browser has connected by itself. A proxy that passes the name on
 *   which its clients use passes on its own port, too.
 * - With TLS, browsers have checked the name.
 */
export function foreignHost({ socket, headers: { host } }: IncomingMessage): string | undefined {
  if (host === undefined || socket instanceof TLSSocket || !loopback.test(socket.localAddress ?? ''))
    return undefined;
  const [, name, port = defaultPort] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(host) ?? [];
  if (name === undefined) return host;
  // An address is none of DNS.
  if (isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || isOwnName(name)) return undefined;
  return Number(port) === socket.localPort ? host : undefined;
}
