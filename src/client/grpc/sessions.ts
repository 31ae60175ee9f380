/** The connections to a server. Each carries many calls; there is a further one where one has many under way. */

import {
  connect,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { CheckedConnectOptions } from '../options.js';

/** With so many calls under way on each connection there is another one, up to `maxConnections`. */
const callsOfSession = 100;
/** The bytes of a stream, and of all streams of a connection, that may come before they are acknowledged. */
const streamWindow = 1 << 20;
const connectionWindow = 16 << 20;
const frameBytes = 256 << 10;
/** In megabytes; beyond, Node refuses streams. Messages have at most so many. */
const sessionMemory = 2 ** 12;

/** A connection. */
export class Session {
  readonly #http: ClientHttp2Session;
  calls = 0;
  #usable = true;
  /** When a frame came last. */
  #received: number = performance.now();

  constructor(http: ClientHttp2Session, ended: (session: Session) => void) {
    this.#http = http;
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
      ended(this);
    });
  }

  /** Whether calls may begin on it. */
  get usable(): boolean {
    return this.#usable && !this.#http.closed && !this.#http.destroyed;
  }

  /** Something came. */
  received(): void {
    this.#received = performance.now();
  }

  /** Begins a call. {@link ended} has to be called after it. */
  request(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    // A call keeps the process alive, and a connection without one does not.
    if (this.calls++ === 0) this.#http.ref();
    return this.#http.request(headers, { endStream: false });
  }

  /** A call has ended. */
  ended(): void {
    if (--this.calls === 0 && !this.#http.destroyed) this.#http.unref();
  }

  /** A call that began then has had no answer in time. Where nothing else came either, the connection takes no more calls. */
  doubt(since: number): void {
    if (this.#received > since) return;
    this.#usable = false;
    this.#http.close();
  }

  destroy(): void {
    this.#http.destroy();
  }
}

function ignore(): void {
  // See where it is used.
}

/** See the head of this file. */
export class Sessions {
  readonly #authority: string;
  readonly #options: CheckedConnectOptions;
  readonly #all: Set<Session> = new Set();

  /** @param authority - Scheme, host and port. */
  constructor(authority: string, options: CheckedConnectOptions) {
    this.#authority = authority;
    this.#options = options;
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
    });
    const session = new Session(http, (ended) => this.#all.delete(ended));
    this.#all.add(session);
    return session;
  }
}
