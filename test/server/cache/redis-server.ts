/** A real redis-server for tests, and a proxy before it that is slow or silent. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { temporaryFolder } from '../../support/repository.js';
import { connects, ServerProcess } from '../../support/server-process.js';

/** Why tests with Redis cannot run; false: they can. */
export const withoutRedis: string | false =
  spawnSync('redis-server', ['--version']).status === 0
    ? false
    : 'redis-server is missing: apt-get install redis-server';

/** Starts one, which ends with the test. */
export async function startRedis(t: TestContext, more: readonly string[] = []): Promise<ServerProcess> {
  const folder = await temporaryFolder(t);
  return ServerProcess.start(
    t,
    (port) => {
      const fixed = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
      return spawn('redis-server', [...fixed, '--dir', folder, ...more], { stdio: 'ignore' });
    },
    (port) =>
      connects(port, (socket) => {
        socket.write('PING\r\n');
        return once(socket, 'data');
      }),
  );
}

/** Passes bytes to a port, unless it hangs; then it reads them, and passes nothing either way. */
export class Proxy {
  hangs = false;
  /** Counts what clients have sent: pieces, and connections. */
  pieces = 0;
  connections = 0;
  readonly #sockets: Set<Socket> = new Set();
  readonly #server = createServer((socket) => {
    this.#accept(socket);
  });
  readonly #to: number;

  constructor(to: number) {
    this.#to = to;
  }

  /** Returns its port. */
  async start(t: TestContext): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    t.after(() => {
      this.#server.close();
      for (const socket of this.#sockets) socket.destroy();
    });
    return (this.#server.address() as AddressInfo).port;
  }

  #accept(client: Socket): void {
    this.connections++;
    const redis = connect(this.#to, '127.0.0.1');
    for (const [from, to] of [
      [client, redis],
      [redis, client],
    ] as const) {
      this.#sockets.add(from);
      from.on('data', (bytes) => {
        if (from === client) this.pieces++;
        if (!this.hangs) to.write(bytes);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }
}
