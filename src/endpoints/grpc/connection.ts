/** A connection's keepalive pings, limits of the client's pings and resets, maximum age, and end. */

import { constants, type Http2Session } from 'node:http2';
import { Leak } from '../../protocol/grpc/leak.js';
import type { CheckedGrpcOptions } from './options.js';
import { pongBytes, Probe } from './probe.js';
import { clearTimeout, setTimeout } from '../../timers.js';

/** The least time between pings of a client without calls, unless the options permit more. As in gRPC. */
const idlePingMs = 7_200_000;
/** The limit for a connection's HTTP/2 preface to arrive. */
const prefaceMs = 60_000;
/** The flow-control window of a connection, for all its streams together. */
const connectionWindow = 8 << 20;

/**
 * How many calls a client may reset before any answer: a burst, and then so many a second. This bounds rapid-reset
 * attacks (CVE-2023-44487), in which each call costs the server work and the client nothing.
 */
const mostUnanswered = 900;
const unansweredPerSecond = 30;

/**
 * The same for all resets. Beyond this limit the connection takes no more calls, and the calls under way finish.
 * nghttp2's own limit, 1,000 at once and 33 a second, would end every call of the connection.
 */
const mostResets = 700;
const resetsPerSecond = 25;

/** How long a client has to read the reason before its connection is destroyed. */
const goodbyeMs = 1000;

/** See the head of this file. */
export class Connection {
  readonly #session: Http2Session;
  readonly #options: CheckedGrpcOptions;
  readonly #probe: Probe;
  #calls = 0;
  #lastReceived: number;
  /** Pings that this side has sent since a message was last sent or received. */
  #pings = 0;
  #lastPing = -Infinity;
  #strikes = 0;
  #answeredPings = 0;
  /** The bytes written before the client's last ping, without answers to pings. */
  #sentBytes = 0;
  readonly #unanswered: Leak = new Leak(mostUnanswered, unansweredPerSecond);
  readonly #resets: Leak = new Leak(mostResets, resetsPerSecond);
  #calmed = false;
  #keepalive: NodeJS.Timeout;
  #pong: NodeJS.Timeout | undefined;
  #age: NodeJS.Timeout | undefined;
  #end: NodeJS.Timeout | undefined;
  readonly #preface: NodeJS.Timeout;

  constructor(session: Http2Session, options: CheckedGrpcOptions) {
    this.#session = session;
    this.#options = options;
    this.#probe = new Probe(session);
    this.#lastReceived = performance.now();
    const { keepaliveTimeMs, maxConnectionAgeMs, requestTimeoutMs } = options;
    this.#keepalive = setTimeout(this.#onKeepalive, keepaliveTimeMs).unref();
    if (maxConnectionAgeMs !== undefined) this.#age = setTimeout(this.#onAge, maxConnectionAgeMs).unref();
    this.#preface = setTimeout(
      () => {
        session.destroy();
      },
      Math.min(prefaceMs, requestTimeoutMs),
    ).unref();
    session.on('error', ignore); // 'close' follows in any case.
    session.once('remoteSettings', () => {
      clearTimeout(this.#preface);
    });
    session.on('ping', this.#onPing);
    session.once('close', this.#onClose);
    session.setLocalWindowSize(connectionWindow);
  }

  /** Counts a new call. */
  began(): void {
    this.#calls++;
  }

  /** Counts the end of a call. */
  ended(): void {
    this.#calls--;
  }

  /**
   * Counts a call that the client has reset.
   *
   * @param answered - Whether anything had been sent to the client.
   */
  cancelled(answered: boolean): void {
    const now = performance.now();
    if (!answered && this.#unanswered.add(now)) this.#calm('too_many_resets');
    else if (this.#resets.add(now)) this.drain();
  }

  /** Notes that bytes of a call have arrived. */
  received(): void {
    this.#lastReceived = performance.now();
    this.#pings = 0;
  }

  /** Notes that bytes of a call were sent. */
  sent(): void {
    this.#pings = 0;
    this.#strikes = 0;
    this.#lastPing = -Infinity;
  }

  /** Takes no more calls, and ends the connection with its last call. */
  drain(): void {
    if (!this.#session.closed) this.#session.close();
  }

  /** See {@link Probe.look}. */
  probe(now: number): number {
    return this.#probe.look(now);
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.#session.destroy();
  }

  readonly #onKeepalive = (): void => {
    const { keepaliveTimeMs, keepalivePermitWithoutCalls, maxPingsWithoutData } = this.#options;
    const left = this.#lastReceived + keepaliveTimeMs - performance.now();
    const mayPing =
      (this.#calls > 0 || keepalivePermitWithoutCalls) &&
      (maxPingsWithoutData === 0 || this.#pings < maxPingsWithoutData);
    if (left <= 0 && mayPing) this.#ping();
    this.#keepalive = setTimeout(this.#onKeepalive, left > 0 ? Math.ceil(left) : keepaliveTimeMs).unref();
  };

  #ping(): void {
    const session = this.#session;
    if (session.destroyed || this.#pong !== undefined) return;
    this.#pings++;
    this.#pong = setTimeout(() => {
      session.destroy();
    }, this.#options.keepaliveTimeoutMs).unref();
    session.ping(() => {
      clearTimeout(this.#pong);
      this.#pong = undefined;
    });
  }

  /** Counts a ping of the client. Node answers the ping. */
  readonly #onPing = (): void => {
    const { keepalivePermitWithoutCalls, minPingIntervalWithoutDataMs, maxPingStrikes } = this.#options;
    const isIdle = this.#calls === 0 && !keepalivePermitWithoutCalls;
    const least = isIdle ? Math.max(idlePingMs, minPingIntervalWithoutDataMs) : minPingIntervalWithoutDataMs;
    // Clients ping to measure bandwidth while they receive data. So written bytes, without answers to pings, excuse
    // pings.
    if (this.#session.destroyed) return; // A destroyed session has no socket.
    const sent = this.#session.socket.bytesWritten - pongBytes * this.#answeredPings++;
    if (sent > this.#sentBytes) this.sent();
    this.#sentBytes = Math.max(this.#sentBytes, sent);
    const now = performance.now();
    const isEarly = now - this.#lastPing < least;
    this.#lastPing = now;
    if (!isEarly || maxPingStrikes === 0 || ++this.#strikes <= maxPingStrikes) return;
    this.#calm('too_many_pings');
  };

  /** Whether the end of the connection was announced. New calls are then refused. */
  get calmed(): boolean {
    return this.#calmed;
  }

  /**
   * Ends the connection, and tells the client why. Closing a socket with unread bytes resets the connection, and
   * the client could lose the reason. So the client has a moment to read the reason and close the connection
   * itself.
   */
  #calm(why: string): void {
    const session = this.#session;
    if (session.destroyed || this.#calmed) return;
    this.#calmed = true;
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from(why));
    this.#end = setTimeout(() => {
      session.destroy();
    }, goodbyeMs).unref();
  }

  readonly #onAge = (): void => {
    this.drain();
    const { maxConnectionAgeGraceMs } = this.#options;
    if (maxConnectionAgeGraceMs === undefined) return;
    this.#age = setTimeout(() => {
      this.#session.destroy();
    }, maxConnectionAgeGraceMs).unref();
  };

  readonly #onClose = (): void => {
    for (const timer of [this.#keepalive, this.#pong, this.#age, this.#end, this.#preface])
      clearTimeout(timer);
  };
}

function ignore(): void {
  // The use explains why the error is ignored.
}
