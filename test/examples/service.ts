/** Runs the service of examples/fastify in its own process, with a client that counts. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request, type IncomingHttpHeaders } from 'node:http';

/** A running service. */
export interface Service {
  readonly address: string;
  /** All that it has printed, on both streams. */
  printed(): string;
  /** Sends the signal that stops it. */
  terminate(): void;
  /** Its exit code, once it has ended and all its output has come. */
  readonly ended: Promise<number | null>;
  /** Kills it if it still runs. */
  kill(): void;
}

/**
 * Starts the service.
 *
 * @param folder - Contains the example and `node_modules`.
 * @param env - Its settings.
 */
export async function startService(folder: string, env: Readonly<Record<string, string>>): Promise<Service> {
  const child = spawn(process.execPath, ['main.js'], {
    cwd: folder,
    env: { ...process.env, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  const ended = once(child, 'close').then(([code]) => (typeof code === 'number' ? code : null));
  const address = new Promise<string>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
        const [, found] = /^listening on (\S+)$/m.exec(printed) ?? [];
        if (found !== undefined) resolve(found);
      });
  });
  const failed = ended.then((code): never => {
    throw new Error(`the service ended with ${String(code)}:\n${printed}`);
  });
  failed.catch(() => undefined);
  return {
    address: await Promise.race([address, failed]),
    printed: () => printed,
    terminate: () => child.kill('SIGTERM'),
    ended,
    kill: () => child.kill('SIGKILL'),
  };
}

/** The answer to a request. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends requests over connections that are kept alive. */
export class Client {
  readonly #address: string;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(address: string) {
    this.#address = address;
  }

  /**
   * Sends a request: POST with a body, otherwise GET.
   *
   * @returns The answer; undefined if the connection was refused, or ended without a byte of an answer.
   * @throws The reason why an answer ended too early.
   */
  send(path: string, body?: string): Promise<Answer | undefined> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' };
      const sent = request(
        `${this.#address}${path}`,
        body === undefined ? { agent: this.#agent } : { agent: this.#agent, method: 'POST', headers },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
          response.on('error', reject);
          response.on('end', () => {
            resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
          });
        },
      );
      sent.on('error', () => {
        resolve(undefined);
      });
      sent.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
