/** Connections to an endpoint with TLS whose handshake has not ended. */

import type { Server, Socket } from 'node:net';

/** Tells connections of a server apart, before and after the handshake, which makes another object of each. */
function nameOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress ?? ''} ${remotePort ?? ''} ${localAddress ?? ''} ${localPort ?? ''}`;
}

/** See the head of this file. Without TLS there are none. */
export class Handshakes {
  readonly #sockets: Map<string, Socket> = new Map();

  /** @param server - One with TLS. */
  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      const name = nameOf(socket);
      this.#sockets.set(name, socket);
      socket.once('close', () => {
        // Another connection may have the same ports by now.
        if (this.#sockets.get(name) === socket) this.#sockets.delete(name);
      });
    });
    server.on('secureConnection', (socket: Socket) => {
      this.#sockets.delete(nameOf(socket));
    });
  }

  /** Ends the connections. Their clients have no request under way. */
  cut(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
  }
}
