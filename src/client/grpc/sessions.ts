/**
 * The connections to a server. Each carries many calls; another one is opened when all have many calls in
 * progress.
 */

import {
  connect,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { Leak } from '../../protocol/grpc/leak.js';
import { clearInterval, setInterval } from '../../timers.js';
import type { CheckedConnectOptions } from '../options.js';
import { Liveness, patienceOf } from './liveness.js';

/** If every connection has this many calls in progress, another one is opened, up to `maxConnections`. */
const callsOfSession = 100;
/** How many bytes of a stream, and of all streams of a connection, may arrive before they are acknowledged. */
const streamWindow = 1 << 20;
const connectionWindow = 16 << 20;
const frameBytes = 256 << 10;
/** In megabytes; above it, Node refuses streams. It exceeds the maximum size of a message. */
const sessionMemory = 2 ** 12;

/**
 * How many calls a connection may reset in a burst, and how many per second in the long run. After that it
 * accepts no more calls. Servers end connections with many resets: this package's server drains them at 700,
 * and nghttp2 ends all their calls at 1,000.
 */
const mostResets = 500;
const resetsPerSecond = 20;

/**
 * How long a connection is silent, in milliseconds, before the system checks whether the other machine still
 * exists.
 */
const tcpKeepAlive = { keepAlive: true, keepAliveInitialDelay: 30_000 };

/** Is notified of a connection's events. */
interface SessionHost {
  /** The connection got its first call, or has none any more. */
  busy(isBusy: boolean): void;
  ended(session: Session): void;
}

/** A connection to a server. */
export class Session {
  readonly #http: ClientHttp2Session;
  readonly #liveness: Liveness;
  readonly #host: SessionHost;
  readonly #resets: Leak = new Leak(mostResets, resetsPerSecond);
  calls = 0;
  #usable = true;
  /** When a frame was last received. */
  #received: number = performance.now();
  /** The number of bytes read when the last call began. */
  #readBefore = 0;
  /** Whether the connection was already unusable and without calls at the previous check. */
  #left = false;

  constructor(http: ClientHttp2Session, liveness: Liveness, host: SessionHost) {
    this.#http = http;
    this.#liveness = liveness;
    this.#host = host;
    http.unref();
    http.on('error', ignore); // Its calls receive the error.
    http.on('goaway', () => {
      this.#usable = false;
    });
    http.once('connect', () => {
      http.setLocalWindowSize(connectionWindow);
      this.received();
    });
    http.once('close', () => {
      this.#usable = false;
      host.ended(this);
    });
  }

  /** Whether calls may begin on the connection. */
  get usable(): boolean {
    return this.#usable && !this.#http.closed && !this.#http.destroyed;
  }

  /** Called when part of an answer has arrived. */
  received(): void {
    this.#received = performance.now();
    this.#liveness.answered();
  }

  /** Begins a call. The caller must call {@link ended} when it has ended. */
  request(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    if (this.calls++ === 0) {
      // A call keeps the process alive; a connection without calls does not.
      this.#http.ref();
      this.#host.busy(true);
      this.#liveness.woke();
    }
    this.#readBefore = this.#http.socket.bytesRead;
    return this.#http.request(headers, { endStream: false });
  }

  /** Called when a call has ended. */
  ended(): void {
    if (--this.calls > 0) return;
    this.#host.busy(false);
    if (!this.#http.destroyed) this.#http.unref();
  }

  /** Called when this side has reset a call. */
  reset(): void {
    if (this.#resets.add(performance.now()) && this.usable) this.#retire();
  }

  /**
   * Called if a call that began at `since` got no answer in time. If nothing else arrived since then either,
   * the connection accepts no more calls.
   */
  doubt(since: number): void {
    if (this.#received <= since) this.#retire();
  }

  /**
   * Called if a call was refused. If nothing has arrived since it began, this side refused it: after a
   * violation of HTTP/2, nghttp2 accepts no more calls, and Node does not report that the connection has ended.
   */
  refused(): void {
    if (!this.#http.destroyed && this.#http.socket.bytesRead === this.#readBefore) this.#retire();
  }

  /** Accepts no more calls; the connection ends with its last call. */
  #retire(): void {
    this.#usable = false;
    this.#http.close();
  }

  /** Ends the connection if it is dead, or unusable and without calls. */
  look(): void {
    if (this.#liveness.look(this.calls > 0)) {
      this.#http.destroy(new Error('the server sends nothing and does not answer pings'));
      return;
    }
    // Node ends such a connection itself, unless it is broken. Its last frames can still be sent until the
    // second check.
    const isLeft = this.calls === 0 && !this.usable;
    if (isLeft && this.#left) this.#http.destroy();
    this.#left = isLeft;
  }

  destroy(): void {
    this.#http.destroy();
  }
}

function ignore(): void {
  // The comments at its uses say why nothing is done.
}

/** See the head of this file. */
export class Sessions implements SessionHost {
  readonly #authority: string;
  readonly #options: CheckedConnectOptions;
  readonly #all: Set<Session> = new Set();
  readonly #patience: ReturnType<typeof patienceOf>;
  /** Number of connections with calls. */
  #busy = 0;
  #looks: NodeJS.Timeout | undefined;

  /** @param authority - Scheme, host and port. */
  constructor(authority: string, options: CheckedConnectOptions) {
    this.#authority = authority;
    this.#options = options;
    this.#patience = patienceOf(options.keepaliveTimeMs, options.keepaliveTimeoutMs);
  }

  /** Returns the connection for the next call. */
  take(): Session {
    let least: Session | undefined;
    let count = 0;
    for (const session of this.#all) {
      if (!session.usable) continue;
      count++;
      if (session.calls < callsOfSession) return session;
      if (least === undefined || session.calls < least.calls) least = session;
    }
    return least !== undefined && count >= this.#options.maxConnections ? least : this.#open();
  }

  destroy(): void {
    for (const session of this.#all) session.destroy();
  }

  #open(): Session {
    const http = connect(this.#authority, {
      ...this.#options.tls,
      settings: { enablePush: false, initialWindowSize: streamWindow, maxFrameSize: frameBytes },
      maxSessionMemory: sessionMemory,
      ...tcpKeepAlive,
    });
    const session = new Session(http, new Liveness(http, this.#patience), this);
    this.#all.add(session);
    this.#looks ??= setInterval(this.#look, this.#patience.everyMs).unref();
    return session;
  }

  busy(isBusy: boolean): void {
    this.#busy += isBusy ? 1 : -1;
    // A dead connection may no longer keep the process alive, and its calls would then never end. So the timer
    // does.
    if (isBusy && this.#busy === 1) this.#looks?.ref();
    else if (this.#busy === 0) this.#looks?.unref();
  }

  ended(session: Session): void {
    this.#all.delete(session);
    if (this.#all.size > 0) return;
    clearInterval(this.#looks);
    this.#looks = undefined;
  }

  readonly #look = (): void => {
    for (const session of this.#all) session.look();
  };
}
