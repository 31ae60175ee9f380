/** Stands between a client and a store, and does to requests what networks and busy stores do. */

import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';

/** What happens to a request. */
export type Fault =
  /** An answer with this status, in place of the store's. */
  | { readonly status: number }
  /** The connection ends after so many bytes of the body. */
  | { readonly cutAt: number }
  /** A byte of the body is another one. */
  | { readonly damageAt: number }
  /** A pause after each part of the body, in milliseconds. */
  | { readonly pauseMs: number }
  /** Nothing comes. */
  | { readonly hangs: true }
  /** Called with the whole body; its result is sent. */
  | { readonly rewrite: (body: string) => string };

/** Chooses what happens to a request; undefined: nothing does. The range is empty if it asks for the whole object. */
export type Choose = (method: string, url: string, range: string) => Fault | undefined;

/** See the head of this file. */
export class FaultProxy {
  choose: Choose = () => undefined;
  /** The requests that came, with their Range if they have one: `GET /models/add?… bytes=3-`. */
  readonly seen: string[] = [];
  /** How many requests hang whose connection the client has not closed. */
  hanging = 0;
  readonly #to: number;
  readonly #sockets: Set<Socket> = new Set();

  constructor(to: number) {
    this.#to = to;
  }

  /** Returns its port. */
  async start(t: TestContext): Promise<number> {
    const server = createServer((from, to) => {
      this.#pass(from, to);
    });
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      server.close();
      for (const socket of this.#sockets) socket.destroy();
    });
    return (server.address() as AddressInfo).port;
  }

  #pass(from: IncomingMessage, to: ServerResponse): void {
    const { method = '', url = '', headers } = from;
    const { range = '' } = headers;
    this.seen.push(`${method} ${url} ${range}`.trim());
    const fault = this.choose(method, url, range);
    if (fault && 'hangs' in fault) {
      this.hanging++;
      to.on('close', () => this.hanging--);
      return;
    }
    if (fault && 'status' in fault) {
      from.resume();
      to.writeHead(fault.status).end('<html>busy</html>');
      return;
    }
    // The host is part of what the client has signed, so all headers stay as they are.
    const onward = request({ host: '127.0.0.1', port: this.#to, method, path: url, headers }, (answer) => {
      void this.#answer(answer, to, fault);
    });
    onward.on('error', () => to.destroy());
    from.on('error', () => onward.destroy());
    to.on('close', () => onward.destroy());
    from.pipe(onward);
  }

  async #answer(answer: IncomingMessage, to: ServerResponse, fault: Fault | undefined): Promise<void> {
    try {
      if (fault && 'rewrite' in fault) {
        const parts: Buffer[] = [];
        for await (const part of answer) parts.push(part as Buffer);
        const body = Buffer.from(fault.rewrite(Buffer.concat(parts).toString()));
        const { 'transfer-encoding': _, ...kept } = answer.headers;
        to.writeHead(answer.statusCode ?? 0, { ...kept, 'content-length': body.length }).end(body);
        return;
      }
      to.writeHead(answer.statusCode ?? 0, answer.headers);
      let passed = 0;
      for await (const one of answer) {
        const part = one as Buffer;
        if (fault && 'cutAt' in fault && passed + part.length > fault.cutAt) {
          to.write(part.subarray(0, fault.cutAt - passed), () => to.destroy());
          return;
        }
        if (
          fault &&
          'damageAt' in fault &&
          fault.damageAt >= passed &&
          fault.damageAt < passed + part.length
        ) {
          const at = fault.damageAt - passed;
          part[at] = (part[at] ?? 0) ^ 1;
        }
        passed += part.length;
        if (!to.write(part)) await once(to, 'drain');
        if (fault && 'pauseMs' in fault) await wait(fault.pauseMs);
      }
      to.end();
    } catch {
      to.destroy();
    }
  }
}
