/**
 * Finds dead connections. When a client breaks a rule of HTTP/2 (headers that cannot be decoded, data for no call),
 * nghttp2 sends GOAWAY, and then neither reads nor writes. Node emits no event, not even when the client closes, so the
 * connection would stay for ever. A ping on such a connection stays in its queue, which reveals it. On a connection that
 * ends with its last call, Node sends no pings. There, settings without a change are sent instead.
 */

import type { Http2Session } from 'node:http2';

/** The size of an answer to a ping: a frame's header, and eight bytes. */
export const pongBytes: number = 9 + 8;

/** The size of an answer to settings: a frame's header. */
const settingsTakenBytes = 9;

/** See the head of this file. */
export class Probe {
  readonly #session: Http2Session;
  /** The bytes read and written at the last check. */
  #read = -1;
  #written = -1;
  /**
   * The bytes read when the connection last worked, answers to our pings included. Later bytes may have broken it.
   */
  #worked = -1;
  /** The bytes written when a ping was queued; undefined: no ping waits. */
  #pinged: number | undefined;
  #stuckSince: number | undefined;

  constructor(session: Http2Session) {
    this.#session = session;
  }

  /**
   * Checks the connection; called every few seconds. A connection gets one ping after it has been in use.
   *
   * @param now - Milliseconds of a monotonic clock.
   * @returns For how many milliseconds the connection has written nothing although bytes wait; -1: it works.
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
      if (session.closed) session.settings({}, this.#onSettingsTaken);
      // Node allows ten unanswered pings. Then the client answers none, and the connection is dead.
      else if (!session.ping(this.#onPong)) return Infinity;
    }
    return -1;
  }

  readonly #onPong = (error: Error | null): void => {
    if (error === null) this.#worked += pongBytes;
  };

  readonly #onSettingsTaken = (error: Error | null): void => {
    if (error === null) this.#worked += settingsTakenBytes;
  };
}
