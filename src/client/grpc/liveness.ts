/**
 * Finds connections that are dead. A server may vanish without a word; and when one breaks a rule of HTTP/2, nghttp2 reads and
 * writes no more, and Node tells nobody, not even when the server closes. A ping that is not answered shows both.
 *
 * Servers end connections that ping too often: gRPC lets a client ping once after each answer, takes two pings more for
 * mistakes, and any that comes five minutes after the one before.
 */

import type { ClientHttp2Session } from 'node:http2';

/** How many pings are sent without an answer to a call in between, before they have to wait. */
const freePings = 2;
/** How long they wait then, in milliseconds. */
const laterPingMs = 300_000;

/** How long a connection may be silent before it is pinged, and how long the answer may take. In looks at it: see below. */
export interface Patience {
  readonly silentLooks: number;
  readonly answerLooks: number;
}

/** A part of each time limit is how often connections are looked at. */
const looksOfLimit = 4;

/** How often to look at connections with these limits, and what the limits are then. */
export function patienceOf(timeMs: number, timeoutMs: number): Patience & { readonly everyMs: number } {
  const everyMs = Math.ceil(Math.min(timeMs, timeoutMs) / looksOfLimit);
  return {
    everyMs,
    silentLooks: Math.ceil(timeMs / everyMs),
    answerLooks: Math.ceil(timeoutMs / everyMs),
  };
}

/**
 * See the head of this file. Time is counted in looks, not by a clock: between two of them Node has read what had come, also in
 * a process that was held up for long.
 */
export class Liveness {
  readonly #http: ClientHttp2Session;
  readonly #patience: Patience;
  #bytes = 0;
  #silent = 0;
  /** Whether a ping was sent since something came. */
  #pinged = false;
  /** Pings since an answer to a call, and when the last one was sent. */
  #pings = 0;
  #lastPing = 0;

  constructor(http: ClientHttp2Session, patience: Patience) {
    this.#http = http;
    this.#patience = patience;
  }

  /** A call begins on a connection that had none. Its silence until now means nothing. */
  woke(): void {
    this.#silent = 0;
    this.#pinged = false;
  }

  /** Something of a call's answer came. */
  answered(): void {
    this.#pings = 0;
  }

  /**
   * Looks at the connection.
   *
   * @param isBusy - Whether it has calls. One without is pinged only once.
   * @returns Whether it is dead.
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
    // One that is still connecting is not pinged, but has to say something in the same time.
    if (!http.connecting) http.ping(ignore);
    return false;
  }

  #mayPing(isBusy: boolean): boolean {
    // Node sends no pings then. Such a connection ends with its calls.
    if (this.#http.closed) return false;
    if (this.#pings === 0) return true;
    return isBusy && (this.#pings < freePings || performance.now() - this.#lastPing >= laterPingMs);
  }
}

function ignore(): void {
  // Its answer is seen as bytes that come.
}
