/** Programs for tests that listen on a port. */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

/** A program that listens on a port. */
export class ServerProcess {
  readonly port: number;
  readonly #start: () => ChildProcess;
  readonly #answers: (port: number) => Promise<boolean>;
  #process: ChildProcess | undefined;

  private constructor(port: number, start: () => ChildProcess, answers: (port: number) => Promise<boolean>) {
    this.port = port;
    this.#start = start;
    this.#answers = answers;
  }

  /**
   * Starts one, which ends with the test.
   *
   * @param answers - Whether it is up (default: whether something listens on the port).
   */
  static async start(
    t: TestContext,
    spawned: (port: number) => ChildProcess,
    answers: (port: number) => Promise<boolean> = listens,
  ): Promise<ServerProcess> {
    for (let tries = 1; ; tries++) {
      const port = await freePort();
      const server = new ServerProcess(port, () => spawned(port), answers);
      t.after(() => server.kill());
      try {
        await server.restart();
        return server;
      } catch (error) {
        // Somebody else may have taken the port meanwhile.
        if (tries === 3) throw error;
      }
    }
  }

  async restart(): Promise<void> {
    const started = this.#start();
    this.#process = started;
    const end = performance.now() + 60_000;
    while (!(await this.#answers(this.port))) {
      if (started.exitCode !== null) throw new Error(`the server ended with ${started.exitCode}`);
      if (performance.now() > end) throw new Error('the server did not start within 60 s');
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

function listens(port: number): Promise<boolean> {
  return connects(port, () => Promise.resolve());
}

/** Whether a port takes connections, and lets a function use one. */
export async function connects(port: number, use: (socket: Socket) => Promise<unknown>): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    await use(socket);
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
