/**
 * Finds connections on which nothing happens any more. When a client breaks a rule of HTTP/2 (headers that cannot be decoded, data
 * of no call), nghttp2 says GOAWAY, reads and writes no more, and Node tells nobody, not even when the client closes: the
 * connection would stay for ever. What is sent on it stays in its queue, so a ping shows which ones these are.
 */

import type { Http2Session } from 'node:http2';

/** An answer to a ping: the head of a frame, and eight bytes. */
export const pongBytes: number = 9 + 8;

/** See the head of this file. */
export class Probe {
  readonly #session: Http2Session;
  /** What had been read and written when it was looked at last. */
  #read = -1;
  #written = -1;
  /** What had been read when it worked, and the answers to our pings. What came behind that may have broken it. */
  #worked = -1;
  /** What had been written when it was pinged; undefined: it has no ping to write. */
  #pinged: number | undefined;
  #stuckSince: number | undefined;

  constructor(session: Http2Session) {
    this.#session = session;
  }

  /**
   * Looks at the connection, every some seconds. It is pinged once after it has been in use.
   *
   * @param now - Milliseconds of a clock that only goes up.
   * @returns For how many milliseconds it has written nothing, although it has something to write; -1: it works.
   */
  look(now: number): number {
    const session = this.#session;
    if (session.destroyed) return -1;
    const { bytesRead, bytesWritten } = session.socket;
    const isQuiet = bytesRead === this.#read && bytesWritten === this.#written;
    this.#read = bytesRead;
    this.#written = bytesWritten;
    if (this.#pinged !== undefined) {
      const isWaiting = (session.state.outboundQueueSize ?? 0) > 0;
      if (isWaiting && bytesWritten === this.#pinged) return now - (this.#stuckSince ??= now);
      this.#stuckSince = undefined;
      if (!isWaiting) this.#pinged = undefined;
    } else if (isQuiet && bytesRead !== this.#worked) {
      this.#worked = bytesRead;
      this.#pinged = bytesWritten;
      // A client that answers no pings has ten of them at most.
      if (!session.ping(this.#onPong)) return Infinity;
    }
    return -1;
  }

  readonly #onPong = (error: Error | null): void => {
    if (error === null) this.#worked += pongBytes;
  };
}
