/** The connections of an endpoint, and the timers that check them and their calls. */

import type { Server, Socket } from 'node:net';
import { Connection } from './connection.js';
import type { GrpcHandler } from './handler.js';
import { shareSessions, type SessionShared } from './http2/limits.js';
import type { CheckedGrpcOptions } from './options.js';
import { mostTicks } from './rpc.js';
import { Handshakes } from '../service/handshakes.js';
import { clearInterval, setInterval } from '../../timers.js';

/** See the head of this file. */
export class Connections {
  readonly #options: CheckedGrpcOptions;
  readonly #handler: GrpcHandler;
  readonly #shared: SessionShared;
  readonly #all: Set<Connection> = new Set();
  /** All sockets, including sockets in their TLS handshake. */
  readonly #sockets: Set<Socket> = new Set();
  #handshakes: Handshakes | undefined;
  #draining = false;

  constructor(options: CheckedGrpcOptions, handler: GrpcHandler) {
    this.#options = options;
    this.#handler = handler;
    const { maxConcurrentStreams, requestTimeoutMs } = options;
    this.#shared = shareSessions(maxConcurrentStreams, handler.shared.budget, requestTimeoutMs);
  }

  /** Takes a connection that is ready for HTTP/2. */
  readonly accept = (socket: Socket): void => {
    const connection = new Connection(socket, this.#shared, this.#options, this.#handler);
    this.#all.add(connection);
    socket.once('close', () => this.#all.delete(connection));
    // Its TLS handshake ended after the close began.
    if (this.#draining) connection.drain();
  };

  watch(server: Server): void {
    if (this.#options.tls !== undefined) this.#handshakes = new Handshakes(server);
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    const { shared } = this.#handler;
    const tickMs = this.#options.requestTimeoutMs / mostTicks;
    const clock = setInterval(() => {
      shared.tick++;
      for (const call of shared.calls.list()) call.checkProgress();
      this.#check();
    }, tickMs).unref();
    server.once('close', () => {
      clearInterval(clock);
    });
  }

  /** Ends each connection with its last call. Streams without a request under way, and TLS handshakes, end now. */
  drain(): void {
    this.#draining = true;
    for (const connection of this.#all) connection.drain();
    for (const call of this.#handler.shared.calls.list()) call.drain();
    this.#handshakes?.cut();
  }

  destroy(): void {
    for (const connection of this.#all) connection.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Ends the connections whose clients have read nothing for too long. */
  #check(): void {
    const now = performance.now();
    for (const connection of this.#all)
      if (connection.stuckMs(now) >= this.#options.requestTimeoutMs) connection.destroy();
  }
}
