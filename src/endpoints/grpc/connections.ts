/** The connections of an endpoint, and the timers that check them and their calls. */

import { constants, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { Connection } from './connection.js';
import type { GrpcHandler } from './handler.js';
import type { CheckedGrpcOptions } from './options.js';
import { mostTicks, type Traffic } from './rpc.js';
import { replaceStreamTable } from './stream-table.js';
import { clearInterval, setInterval } from '../../timers.js';

/** How often connections are checked for life. */
const probeMs = 5000;

/** See the head of this file. */
export class Connections {
  readonly #options: CheckedGrpcOptions;
  readonly #handler: GrpcHandler;
  readonly #all: Set<Connection> = new Set();
  /** All sockets, including sockets in their TLS handshake. */
  readonly #sockets: Set<Socket> = new Set();

  constructor(options: CheckedGrpcOptions, handler: GrpcHandler) {
    this.#options = options;
    this.#handler = handler;
  }

  watch(http: Http2Server): void {
    http.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    http.on('session', (session) => {
      replaceStreamTable(session);
      const connection = new Connection(session, this.#options);
      this.#all.add(connection);
      session.once('close', () => this.#all.delete(connection));
      session.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
        // A stream that the client cancelled at once emits no further 'close'.
        if (stream.destroyed) connection.cancelled(false);
        else if (connection.calmed) stream.on('error', ignore).close(constants.NGHTTP2_REFUSED_STREAM);
        else this.#handler.handle(stream, headers, connection);
      });
    });
    const { shared } = this.#handler;
    const tickMs = this.#options.requestTimeoutMs / mostTicks;
    const clock = setInterval(() => {
      shared.tick++;
      for (const call of shared.calls.list()) call.checkProgress();
    }, tickMs).unref();
    const probes = setInterval(this.#probe, Math.min(probeMs, tickMs)).unref();
    http.once('close', () => {
      clearInterval(clock);
      clearInterval(probes);
    });
  }

  /** Ends each connection with its last call. Connections that never sent a byte end now. */
  drain(): void {
    for (const connection of this.#all) connection.drain();
  }

  destroy(): void {
    for (const connection of this.#all) connection.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Ends the connections that no longer work. */
  readonly #probe = (): void => {
    const now = performance.now();
    let sending: Set<Traffic> | undefined;
    for (const connection of this.#all) {
      const stuckMs = connection.probe(now);
      if (stuckMs < 0) continue;
      // A client that does not read its answers looks the same, and has until the request timeout.
      sending ??= this.#sending();
      if (stuckMs >= this.#options.requestTimeoutMs || !sending.has(connection)) connection.destroy();
    }
  };

  #sending(): Set<Traffic> {
    const sending = new Set<Traffic>();
    for (const call of this.#handler.shared.calls.list()) if (call.isSending) sending.add(call.traffic);
    return sending;
  }
}

function ignore(): void {
  // The error only says that the call was refused.
}
