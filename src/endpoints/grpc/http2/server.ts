/** The server that accepts connections of HTTP/2, with or without TLS. */

import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls';
import { TritonError } from '../../../errors.js';
import { thrownText } from '../../../thrown-text.js';
import { setTimeout } from '../../../timers.js';

/** The protocol's name in TLS. */
const protocol = 'h2';
/** How long a client without that protocol has to read why it is refused. */
const refusalMs = 1000;

const noHttp2 = 'This port speaks HTTP/2 only, which TLS must negotiate (ALPN h2).\n';
const refusal = `HTTP/1.0 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: ${noHttp2.length}\r\nConnection: close\r\n\r\n${noHttp2}`;

/**
 * Creates a server.
 *
 * @param accept - Takes each connection that is ready for HTTP/2.
 * @throws {@link TritonError} INVALID_ARG for unusable options of TLS.
 */
export function createHttp2Server(tls: TlsOptions | undefined, accept: (socket: Socket) => void): Server {
  if (tls === undefined) return createServer({ noDelay: true }, accept);
  try {
    const options = { noDelay: true, ...tls, ALPNProtocols: [protocol] };
    return createTlsServer(options, (socket: TLSSocket) => {
      if (socket.alpnProtocol === protocol) accept(socket);
      else refuse(socket);
    });
  } catch (cause) {
    const why = thrownText(cause);
    throw new TritonError('INVALID_ARG', `options.tls cannot be used: ${why}`, { cause });
  }
}

/** Refuses a client that has not negotiated HTTP/2, in words that it may understand. */
function refuse(socket: TLSSocket): void {
  socket.on('error', () => undefined);
  socket.resume();
  socket.end(refusal);
  setTimeout(() => {
    socket.destroy();
  }, refusalMs).unref();
}
