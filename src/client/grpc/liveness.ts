/**
 * Detects dead connections. A server may vanish without closing its connections. Also, after a violation of
 * HTTP/2, nghttp2 stops reading and writing, and Node reports nothing, not even when the server closes. An
 * unanswered ping reveals both cases.
 *
 * Servers close connections that ping too often: gRPC allows one ping after each answer and two further pings,
 * and any ping that comes five minutes after the previous one.
 */

import type { ClientHttp2Session } from 'node:http2';

/** How many pings may be sent without an answer to a call in between. Further pings must wait. */
const freePings = 2;
/** How long further pings wait, in milliseconds. */
const laterPingMs = 300_000;

/**
 * How long a connection may be silent before it is pinged, and how long the answer may take. Both are counted
 * in checks: see below.
 */
export interface Patience {
  readonly silentLooks: number;
  readonly answerLooks: number;
}

/** Number of checks within the shorter time limit. */
const looksOfLimit = 4;

/** The interval between checks for these limits, and the limits as numbers of checks. */
export function patienceOf(timeMs: number, timeoutMs: number): Patience & { readonly everyMs: number } {
  const everyMs = Math.ceil(Math.min(timeMs, timeoutMs) / looksOfLimit);
  return {
    everyMs,
    silentLooks: Math.ceil(timeMs / everyMs),
    answerLooks: Math.ceil(timeoutMs / everyMs),
  };
}

/**
 * See the head of this file. Time is counted in checks, not by a clock: between two checks Node has read what
 * had arrived, even in a process that was suspended for long.
 */
export class Liveness {
  readonly #http: ClientHttp2Session;
  readonly #patience: Patience;
  #bytes = 0;
  #silent = 0;
  /** Whether a ping was sent since bytes last arrived. */
  #pinged = false;
  /** Number of pings since the last answer to a call, and when the last ping was sent. */
  #pings = 0;
  #lastPing = 0;

  constructor(http: ClientHttp2Session, patience: Patience) {
    this.#http = http;
    this.#patience = patience;
  }

  /** Called when a call begins on a connection without calls. The silence until now has no meaning. */
  woke(): void {
    this.#silent = 0;
    this.#pinged = false;
  }

  /** Called when part of a call's answer has arrived. */
  answered(): void {
    this.#pings = 0;
  }

  /**
   * Checks the connection.
   *
   * @param isBusy - Whether it has calls. A connection without calls is pinged only once.
   * @returns Whether the connection is dead.
   */
  look(isBusy: boolean): boolean {
    const http = this.#http;
    if (http.destroyed) return false;
    const { bytesRead } = http.socket;
    if (bytesRead !== this.#bytes) {
      this.#bytes = bytesRead;
      this.#silent = 0;
      this.#pinged = false;
      return false;
    }
    const { silentLooks, answerLooks } = this.#patience;
    this.#silent++;
    if (this.#pinged) return this.#silent >= silentLooks + answerLooks;
    if (this.#silent < silentLooks || !this.#mayPing(isBusy)) return false;
    this.#silent = silentLooks;
    this.#pinged = true;
    this.#pings++;
    this.#lastPing = performance.now();
    // A connection that is still being established is not pinged, but must receive something within the same
    // time.
    if (!http.connecting) http.ping(ignore);
    return false;
  }

  #mayPing(isBusy: boolean): boolean {
    // Node sends no pings on a closing connection. It ends with its calls.
    if (this.#http.closed) return false;
    if (this.#pings === 0) return true;
    return isBusy && (this.#pings < freePings || performance.now() - this.#lastPing >= laterPingMs);
  }
}

function ignore(): void {
  // The answer is seen as bytes that arrive.
}
