/** A real redis-server for tests, and a proxy before it that is slow or silent. */

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { temporaryFolder } from '../../support/repository.js';

/** Why tests with Redis cannot run; false: they can. */
export const withoutRedis: string | false =
  spawnSync('redis-server', ['--version']).status === 0
    ? false
    : 'redis-server is missing: apt-get install redis-server';

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

/** See the head of this file. */
export class RedisProcess {
  readonly port: number;
  readonly #arguments: readonly string[];
  readonly #folder: string;
  #process: ChildProcess | undefined;

  private constructor(port: number, folder: string, more: readonly string[]) {
    this.port = port;
    this.#folder = folder;
    this.#arguments = more;
  }

  /** Starts one, which ends with the test. */
  static async start(t: TestContext, more: readonly string[] = []): Promise<RedisProcess> {
    const folder = await temporaryFolder(t);
    for (let tries = 1; ; tries++) {
      const redis = new RedisProcess(await freePort(), folder, more);
      t.after(() => redis.kill());
      try {
        await redis.restart();
        return redis;
      } catch (error) {
        // Somebody else may have taken the port meanwhile.
        if (tries === 3) throw error;
      }
    }
  }

  async restart(): Promise<void> {
    const fixed = ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    const started = spawn('redis-server', [...fixed, '--dir', this.#folder, ...this.#arguments], {
      stdio: 'ignore',
    });
    this.#process = started;
    const end = performance.now() + 60_000;
    while (!(await answers(this.port))) {
      if (started.exitCode !== null) throw new Error(`redis-server ended with ${started.exitCode}`);
      if (performance.now() > end) throw new Error('redis-server did not start within 60 s');
      await wait(20);
    }
  }

  async kill(): Promise<void> {
    const known = this.#process;
    this.#process = undefined;
    if (!known || known.exitCode !== null) return;
    const ended = once(known, 'exit');
    known.kill('SIGKILL');
    await ended;
  }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    socket.write('PING\r\n');
    await once(socket, 'data');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
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
