/** What an endpoint does for each connection: pings, limits of pings, its age, its end. */

import { constants, type Http2Session } from 'node:http2';
import { Leak } from '../../protocol/grpc/leak.js';
import type { CheckedGrpcOptions } from './options.js';
import { pongBytes, Probe } from './probe.js';

/** Without calls a client may ping so often, unless it is allowed to. As in gRPC. */
const idlePingMs = 7_200_000;
/** How long a connection may take to say that it speaks HTTP/2. */
const prefaceMs = 60_000;
/** The bytes of all streams of a connection that may come before they are acknowledged. */
const connectionWindow = 8 << 20;

/**
 * How many calls a client may reset before they were answered at all, at once, and a second after that: CVE-2023-44487. Each
 * caused work, and cost the client nothing.
 */
const mostUnanswered = 900;
const unansweredPerSecond = 30;

/**
 * The same for all resets. Beyond it the connection takes no more calls, and those under way finish. nghttp2 counts all resets:
 * after 1,000 at once and 33 a second it ends every call of the connection.
 */
const mostResets = 700;
const resetsPerSecond = 25;

/** How long a client that is sent away has to read why. */
const goodbyeMs = 1000;

/** See the head of this file. */
export class Connection {
  readonly #session: Http2Session;
  readonly #options: CheckedGrpcOptions;
  readonly #probe: Probe;
  #calls = 0;
  #lastReceived: number;
  /** Pings that this side has sent since a message came or went. */
  #pings = 0;
  #lastPing = -Infinity;
  #strikes = 0;
  #answeredPings = 0;
  /** How many bytes went out before the last ping, besides answers to pings. */
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
    session.on('error', ignore); // Its 'close' comes in any case.
    session.once('remoteSettings', () => {
      clearTimeout(this.#preface);
    });
    session.on('ping', this.#onPing);
    session.once('close', this.#onClose);
    session.setLocalWindowSize(connectionWindow);
  }

  /** A call has begun. */
  began(): void {
    this.#calls++;
  }

  /** It has ended. */
  ended(): void {
    this.#calls--;
  }

  /**
   * The client has reset a call.
   *
   * @param answered - Whether something had been sent to it.
   */
  cancelled(answered: boolean): void {
    const now = performance.now();
    if (!answered && this.#unanswered.add(now)) this.#calm('too_many_resets');
    else if (this.#resets.add(now)) this.drain();
  }

  /** Bytes of a call came. */
  received(): void {
    this.#lastReceived = performance.now();
    this.#pings = 0;
  }

  /** Bytes of a call were sent. */
  sent(): void {
    this.#pings = 0;
    this.#strikes = 0;
    this.#lastPing = -Infinity;
  }

  /** Takes no more calls, and ends with its last one. */
  drain(): void {
    if (!this.#session.closed) this.#session.close();
  }

  /** See {@link Probe.look}. */
  probe(now: number): number {
    return this.#probe.look(now);
  }

  /** Ends at once. */
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

  /** The client has sent a ping; Node answers it. */
  readonly #onPing = (): void => {
    const { keepalivePermitWithoutCalls, minPingIntervalWithoutDataMs, maxPingStrikes } = this.#options;
    const isIdle = this.#calls === 0 && !keepalivePermitWithoutCalls;
    const least = isIdle ? Math.max(idlePingMs, minPingIntervalWithoutDataMs) : minPingIntervalWithoutDataMs;
    // Clients ping to measure how fast data comes. Bytes that went out besides answers to pings are such data.
    if (this.#session.destroyed) return; // It has no socket.
    const sent = this.#session.socket.bytesWritten - pongBytes * this.#answeredPings++;
    if (sent > this.#sentBytes) this.sent();
    this.#sentBytes = Math.max(this.#sentBytes, sent);
    const now = performance.now();
    const isEarly = now - this.#lastPing < least;
    this.#lastPing = now;
    if (!isEarly || maxPingStrikes === 0 || ++this.#strikes <= maxPingStrikes) return;
    this.#calm('too_many_pings');
  };

  /** Whether its end was announced. No call begins any more. */
  get calmed(): boolean {
    return this.#calmed;
  }

  /**
   * Ends it, and tells the client why. A socket that is closed with bytes in it that nobody has read resets the connection,
   * which can take the reason from a client that has not read it yet. So the client has a moment to read it, and to close.
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
  // See where it is used.
}
