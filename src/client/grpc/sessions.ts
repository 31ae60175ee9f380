/** The connections to a server. Each carries many calls; there is a further one where one has many under way. */

import {
  connect,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { Leak } from '../../protocol/grpc/leak.js';
import type { CheckedConnectOptions } from '../options.js';
import { Liveness, patienceOf } from './liveness.js';

/** With so many calls under way on each connection there is another one, up to `maxConnections`. */
const callsOfSession = 100;
/** The bytes of a stream, and of all streams of a connection, that may come before they are acknowledged. */
const streamWindow = 1 << 20;
const connectionWindow = 16 << 20;
const frameBytes = 256 << 10;
/** In megabytes; beyond, Node refuses streams. Messages have at most so many. */
const sessionMemory = 2 ** 12;

/**
 * How many calls a connection may have reset, at once, and a second after that. Then it takes no more calls. Servers end
 * connections with many resets: this package's drains them at 700, and nghttp2 ends all their calls at 1,000.
 */
const mostResets = 500;
const resetsPerSecond = 20;

/** So long nothing comes, in milliseconds, until the system asks whether the other machine is still there. */
const tcpKeepAlive = { keepAlive: true, keepAliveInitialDelay: 30_000 };

/** Is told what happens to a connection. */
interface SessionHost {
  /** It has calls, or has none any more. */
  busy(isBusy: boolean): void;
  ended(session: Session): void;
}

/** A connection. */
export class Session {
  readonly #http: ClientHttp2Session;
  readonly #liveness: Liveness;
  readonly #host: SessionHost;
  readonly #resets: Leak = new Leak(mostResets, resetsPerSecond);
  calls = 0;
  #usable = true;
  /** When a frame came last. */
  #received: number = performance.now();
  /** What had been read when the last call began. */
  #readBefore = 0;
  /** Whether it was of no use any more when it was looked at last. */
  #left = false;

  constructor(http: ClientHttp2Session, liveness: Liveness, host: SessionHost) {
    this.#http = http;
    this.#liveness = liveness;
    this.#host = host;
    http.unref();
    http.on('error', ignore); // Its calls are told.
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

  /** Whether calls may begin on it. */
  get usable(): boolean {
    return this.#usable && !this.#http.closed && !this.#http.destroyed;
  }

  /** Something came. */
  received(): void {
    this.#received = performance.now();
    this.#liveness.answered();
  }

  /** Begins a call. {@link ended} has to be called after it. */
  request(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    if (this.calls++ === 0) {
      // A call keeps the process alive, and a connection without one does not.
      this.#http.ref();
      this.#host.busy(true);
      this.#liveness.woke();
    }
    this.#readBefore = this.#http.socket.bytesRead;
    return this.#http.request(headers, { endStream: false });
  }

  /** A call has ended. */
  ended(): void {
    if (--this.calls > 0) return;
    this.#host.busy(false);
    if (!this.#http.destroyed) this.#http.unref();
  }

  /** This side has reset a call. */
  reset(): void {
    if (this.#resets.add(performance.now()) && this.usable) this.#retire();
  }

  /** A call that began then has had no answer in time. Where nothing else came either, the connection takes no more calls. */
  doubt(since: number): void {
    if (this.#received <= since) this.#retire();
  }

  /**
   * A call was refused. If nothing has come since, it was this side that refused it: after a breach of HTTP/2 nghttp2 takes no
   * more calls, and Node does not say that the connection has ended.
   */
  refused(): void {
    if (!this.#http.destroyed && this.#http.socket.bytesRead === this.#readBefore) this.#retire();
  }

  /** It takes no more calls, and ends with those that it has. */
  #retire(): void {
    this.#usable = false;
    this.#http.close();
  }

  /** Ends it if it is dead, or of no use any more. */
  look(): void {
    if (this.#liveness.look(this.calls > 0)) {
      this.#http.destroy(new Error('the server sends nothing and does not answer pings'));
      return;
    }
    // Node ends such a connection, unless it is broken. What it has to say still leaves until the second look.
    const isLeft = this.calls === 0 && !this.usable;
    if (isLeft && this.#left) this.#http.destroy();
    this.#left = isLeft;
  }

  destroy(): void {
    this.#http.destroy();
  }
}

function ignore(): void {
  // See where it is used.
}

/** See the head of this file. */
export class Sessions implements SessionHost {
  readonly #authority: string;
  readonly #options: CheckedConnectOptions;
  readonly #all: Set<Session> = new Set();
  readonly #patience: ReturnType<typeof patienceOf>;
  /** How many connections have calls. */
  #busy = 0;
  #looks: NodeJS.Timeout | undefined;

  /** @param authority - Scheme, host and port. */
  constructor(authority: string, options: CheckedConnectOptions) {
    this.#authority = authority;
    this.#options = options;
    this.#patience = patienceOf(options.keepaliveTimeMs, options.keepaliveTimeoutMs);
  }

  /** The connection for the next call. */
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
    // A dead connection may keep the process alive no more, so that its calls would never end.
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
