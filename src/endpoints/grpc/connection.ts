/** A connection's keepalive pings, limits of the client's pings and resets, maximum age, and end. */

import type { Socket } from 'node:net';
import { Leak } from '../../protocol/grpc/leak.js';
import { errorCode } from '../../protocol/http2/errors.js';
import type { GrpcHandler } from './handler.js';
import type { SessionShared } from './http2/limits.js';
import { Session, type SessionEvents } from './http2/session.js';
import type { Stream } from './http2/stream.js';
import type { CheckedGrpcOptions } from './options.js';
import type { Traffic } from './rpc.js';
import { clearTimeout, setTimeout } from '../../timers.js';

/** The least time between pings of a client without calls, unless the options permit more. As in gRPC. */
const idlePingMs = 7_200_000;
/** The limit for a connection's HTTP/2 preface to arrive. */
const prefaceMs = 60_000;

/**
 * How many calls a client may reset before any answer and their deadlines: a burst, and then so many a second. This bounds
 * rapid-reset attacks (CVE-2023-44487), in which each call costs the server work and the client nothing. Very many calls that
 * reach their deadlines at once are none.
 */
const mostUnanswered = 900;
const unansweredPerSecond = 30;

/** The same for all resets. Beyond this limit the connection takes no more calls, and the calls under way finish. */
const mostResets = 700;
const resetsPerSecond = 25;

/** How long a client has to read the reason before its connection is destroyed. */
const goodbyeMs = 1000;

/** See the head of this file. */
export class Connection implements SessionEvents, Traffic {
  readonly #session: Session;
  readonly #options: CheckedGrpcOptions;
  readonly #handler: GrpcHandler;
  #calls = 0;
  #lastReceived: number;
  /** Pings that this side has sent since a message was last sent or received. */
  #pings = 0;
  #lastPing = -Infinity;
  #strikes = 0;
  /** The bytes of answers that were sent before the client's last ping. */
  #sentBytes = 0;
  readonly #unanswered: Leak = new Leak(mostUnanswered, unansweredPerSecond);
  readonly #resets: Leak = new Leak(mostResets, resetsPerSecond);
  #keepalive: NodeJS.Timeout;
  #pong: NodeJS.Timeout | undefined;
  #age: NodeJS.Timeout | undefined;
  #end: NodeJS.Timeout | undefined;
  readonly #preface: NodeJS.Timeout;

  constructor(socket: Socket, shared: SessionShared, options: CheckedGrpcOptions, handler: GrpcHandler) {
    this.#session = new Session(socket, shared, this);
    this.#options = options;
    this.#handler = handler;
    this.#lastReceived = performance.now();
    const { keepaliveTimeMs, maxConnectionAgeMs, requestTimeoutMs } = options;
    this.#keepalive = setTimeout(this.#onKeepalive, keepaliveTimeMs).unref();
    if (maxConnectionAgeMs !== undefined) this.#age = setTimeout(this.#onAge, maxConnectionAgeMs).unref();
    this.#preface = setTimeout(
      () => {
        this.destroy();
      },
      Math.min(prefaceMs, requestTimeoutMs),
    ).unref();
  }

  /** Called by the session, as are those up to {@link closed}. */
  ready(): void {
    clearTimeout(this.#preface);
  }

  call(stream: Stream): void {
    this.#handler.handle(stream, this);
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
   * @param waited - Whether the client has waited for the call: something had been sent to it, or the call's time was over.
   */
  cancelled(waited: boolean): void {
    const now = performance.now();
    if (!waited && this.#unanswered.add(now)) this.#calm('too_many_resets');
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
    this.#session.goAway(errorCode.none, '');
  }

  /** For how many milliseconds the client has read nothing although bytes wait. */
  stuckMs(now: number): number {
    return this.#session.stuckMs(now);
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
    if (!this.#session.ping()) return;
    this.#pings++;
    this.#pong = setTimeout(() => {
      this.destroy();
    }, this.#options.keepaliveTimeoutMs).unref();
  }

  ponged(): void {
    clearTimeout(this.#pong);
    this.#pong = undefined;
  }

  /** Counts a ping of the client. */
  pinged(): void {
    const { keepalivePermitWithoutCalls, minPingIntervalWithoutDataMs, maxPingStrikes } = this.#options;
    const isIdle = this.#calls === 0 && !keepalivePermitWithoutCalls;
    const least = isIdle ? Math.max(idlePingMs, minPingIntervalWithoutDataMs) : minPingIntervalWithoutDataMs;
    // Clients ping to measure bandwidth while they receive data. So sent bytes excuse pings.
    const { answerBytes } = this.#session;
    if (answerBytes > this.#sentBytes) this.sent();
    this.#sentBytes = answerBytes;
    const now = performance.now();
    const isEarly = now - this.#lastPing < least;
    this.#lastPing = now;
    if (!isEarly || maxPingStrikes === 0 || ++this.#strikes <= maxPingStrikes) return;
    this.#calm('too_many_pings');
  }

  /** Ends the connection, and tells the client why. It has a moment to read the reason and close the connection itself. */
  #calm(why: string): void {
    if (this.#end !== undefined) return;
    this.#session.goAway(errorCode.enhanceYourCalm, why);
    this.#end = setTimeout(() => {
      this.destroy();
    }, goodbyeMs).unref();
  }

  readonly #onAge = (): void => {
    this.drain();
    const { maxConnectionAgeGraceMs } = this.#options;
    if (maxConnectionAgeGraceMs === undefined) return;
    this.#age = setTimeout(() => {
      this.destroy();
    }, maxConnectionAgeGraceMs).unref();
  };

  closed(): void {
    for (const timer of [this.#keepalive, this.#pong, this.#age, this.#end, this.#preface])
      clearTimeout(timer);
  }
}
