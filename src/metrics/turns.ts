/**
 * Answers the requests of each connection one by one: a text is made when the previous answer has left, so that a client
 * that sends many requests and reads nothing takes no memory.
 */

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** With this number of unanswered requests, reading from a connection pauses. */
const mostRequests = 64;

/** See the head of this file. @internal */
export class Turns {
  readonly #lines: WeakMap<Socket, (() => void)[]> = new WeakMap();

  /** Calls `answer` when the previous answers of the connection have left. */
  take(socket: Socket, response: ServerResponse, answer: () => void): void {
    const line = this.#lineOf(socket);
    response.once('close', () => {
      line.shift();
      if (socket.destroyed) return;
      if (line.length === mostRequests - 1) socket.resume();
      line[0]?.();
    });
    line.push(answer);
    if (line.length === 1) answer();
    else if (line.length >= mostRequests) socket.pause();
  }

  #lineOf(socket: Socket): (() => void)[] {
    const known = this.#lines.get(socket);
    if (known !== undefined) return known;
    const line: (() => void)[] = [];
    this.#lines.set(socket, line);
    // Node resumes the socket to read the bodies of requests.
    socket.on('resume', () => {
      if (line.length >= mostRequests) socket.pause();
    });
    return line;
  }
}
