/** Makes calls over HTTP/1.1: persistent connections, time limits, and retries of read-only calls. */

import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { reasonHeader } from '../../protocol/statuses.js';
import { reasonNamed, TritonError, type TritonErrorCode, type TritonErrorReason } from '../../errors.js';
import type { Calls } from '../calls.js';
import {
  alreadyClosed,
  answerTooLarge,
  Broken,
  cancelled,
  causeText,
  closedUnder,
  tooLate,
} from '../failures.js';
import type { CheckedConnectOptions } from '../options.js';
import { clearTimeout, setTimeout } from '../../timers.js';

/** A call. */
export interface Call {
  readonly method: 'GET' | 'POST';
  /** The path below the server's address; it begins with a slash. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The parts of the body, which are written to the socket without a copy. */
  readonly body?: readonly Uint8Array[] | undefined;
  /** Whether the call only reads, so that it may be retried. */
  readonly reads: boolean;
  readonly signal?: AbortSignal | undefined;
  /** The time limit of this call, instead of the connection's; 0: none. */
  readonly timeoutMs?: number | undefined;
  /** The model concerned, for errors. */
  readonly model?: string | undefined;
}

/** An answer with status 200. */
export interface Answer {
  readonly headers: IncomingMessage['headers'];
  /** The body, in its own memory. */
  readonly body: Uint8Array<ArrayBuffer>;
}

/**
 * Error codes by HTTP status. 400 stands for several codes of Triton, mostly INVALID_ARG. 403 stands for the
 * code that gRPC reports as UNAVAILABLE.
 */
const codes: Readonly<Partial<Record<number, TritonErrorCode>>> = {
  400: 'INVALID_ARG',
  401: 'UNAVAILABLE',
  403: 'UNAVAILABLE',
  404: 'NOT_FOUND',
  413: 'INVALID_ARG',
  415: 'UNSUPPORTED',
  429: 'UNAVAILABLE',
  500: 'INTERNAL',
  501: 'UNSUPPORTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'UNAVAILABLE',
};

/** Bodies up to this size are joined into one piece, because each piece costs a system call. */
const inOnePiece = 65_536;

/** An answer whose status is not 200. */
export interface Refusal {
  readonly status: number;
  readonly error: TritonError;
}

/**
 * The reasons of statuses that imply one. They are used if the server gives no reason, as servers of other
 * software.
 */
const reasons: Readonly<Partial<Record<number, TritonErrorReason>>> = {
  401: 'NOT_ALLOWED',
  403: 'NOT_ALLOWED',
  502: 'NO_CONNECTION',
  504: 'TIMED_OUT',
};

/** The error of an answer whose status is not 200. */
export function refusalOf(
  status: number,
  headers: IncomingMessage['headers'],
  body: Uint8Array,
  model: string | undefined,
  asked: string,
): Refusal {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  let message = text.trim() === '' ? `the server answered with status ${status}` : text.slice(0, 4096);
  try {
    const { error }: { readonly error?: unknown } = JSON.parse(text) as object;
    if (typeof error === 'string') message = error;
  } catch {
    // If it is not JSON, its text is the message.
  }
  // A server's answer to a path that is none of its calls.
  if (status === 404 && message === 'Not Found') message = `the server does not know ${asked}: Not Found`;
  const reason = reasonNamed(headers[reasonHeader]) ?? reasons[status];
  return { status, error: new TritonError(codes[status] ?? 'UNKNOWN', message, { model, reason }) };
}

/** See the head of this file. */
export class Connection {
  readonly #url: URL;
  readonly #options: CheckedConnectOptions;
  readonly #agent: HttpAgent;
  /** User name and password from the server's address. */
  readonly #auth: string | undefined;
  readonly #send: typeof httpRequest;
  readonly #calls: Calls;

  constructor(url: URL, options: CheckedConnectOptions, calls: Calls) {
    this.#url = url;
    this.#calls = calls;
    this.#options = options;
    const { username, password } = url;
    this.#auth =
      username === '' ? undefined : `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    const kept = { keepAlive: true, maxSockets: options.maxConnections };
    const secure = url.protocol === 'https:';
    this.#agent = secure ? new HttpsAgent({ ...kept, ...options.tls }) : new HttpAgent(kept);
    this.#send = secure ? httpsRequest : httpRequest;
  }

  /**
   * Makes a call.
   *
   * @throws {@link TritonError} The server's error by its status; UNAVAILABLE if there is no connection, if the
   *   answer is late, or after the connection was closed; CANCELLED by the call's signal.
   */
  async call(call: Call): Promise<Answer> {
    const outcome = await this.ask(call);
    if ('error' in outcome) throw outcome.error;
    return outcome;
  }

  /** Makes a call for which an error status is an answer, too. */
  ask(call: Call): Promise<Answer | Refusal> {
    return this.#calls.retrying(
      () => this.#once(call),
      () => call.reads,
      call.signal,
    );
  }

  /** Closes all connections. */
  destroy(): void {
    this.#agent.destroy();
  }

  #once({ method, path, headers, body, signal, model, timeoutMs: own }: Call): Promise<Answer | Refusal> {
    if (this.#calls.closed) return Promise.reject(alreadyClosed(model));
    if (signal?.aborted === true) return Promise.reject(cancelled(signal, model));
    const timeoutMs = own ?? this.#options.timeoutMs;
    const target = `${this.#url.pathname.replace(/\/$/, '')}${path}`;
    return new Promise((resolve, reject) => {
      const length = body?.reduce((sum, part) => sum + part.byteLength, 0);
      const sent = this.#send({
        agent: this.#agent,
        protocol: this.#url.protocol,
        hostname: this.#url.hostname.replace(/^\[(.*)\]$/, '$1'),
        port: this.#url.port,
        path: target,
        method,
        ...(this.#auth !== undefined && { auth: this.#auth }),
        headers: {
          ...this.#options.headers,
          ...headers,
          ...(length !== undefined && { 'Content-Length': String(length) }),
        },
      });
      const done = (): void => {
        clearTimeout(timer);
        if (signal !== undefined) this.#calls.signals.remove(signal, onAbort);
        this.#calls.ended(cancel);
      };
      const fail = (error: TritonError): void => {
        done();
        reject(error);
        sent.destroy();
      };
      const onAbort = (): void => {
        fail(cancelled(signal, model));
      };
      const cancel = (): void => {
        fail(closedUnder(model));
      };
      const timer =
        timeoutMs === 0
          ? undefined
          : setTimeout(() => {
              fail(tooLate(this.#url.origin, timeoutMs, model));
            }, timeoutMs);
      this.#calls.began(cancel);
      if (signal !== undefined) this.#calls.signals.add(signal, onAbort);
      const broken = (cause: Error): void => {
        fail(new Broken(`no answer from ${this.#url.origin}: ${causeText(cause)}`, { model, cause }));
      };
      sent.on('error', broken);
      sent.on('response', (response) => {
        const most = this.#options.maxResponseBytes;
        const tooLarge = (size: number): void => {
          fail(answerTooLarge(this.#url.origin, size, most, model));
        };
        collect(response, most, tooLarge, (whole) => {
          done();
          const status = response.statusCode ?? 0;
          resolve(
            status === 200
              ? { headers: response.headers, body: whole }
              : refusalOf(status, response.headers, whole, model, `${method} ${this.#url.origin}${target}`),
          );
        });
        response.on('error', broken);
      });
      if (length !== undefined && length <= inOnePiece) sent.end(joined(body ?? []));
      else {
        for (const part of body ?? []) sent.write(part);
        sent.end();
      }
    });
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts);
}

/**
 * Collects a body in its own memory.
 *
 * @param tooLarge - Called instead of `done` if the body has more than `most` bytes, with the number of bytes
 *   known so far. It ends the connection.
 */
function collect(
  response: IncomingMessage,
  most: number,
  tooLarge: (size: number) => void,
  done: (body: Uint8Array<ArrayBuffer>) => void,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  const announced = Number(response.headers['content-length'] ?? 0);
  if (announced > most) {
    tooLarge(announced);
    return;
  }
  response.on('data', (chunk: Buffer) => {
    if (size > most) return;
    size += chunk.length;
    if (size > most) {
      chunks.length = 0;
      tooLarge(size);
      return;
    }
    chunks.push(chunk);
  });
  response.on('end', () => {
    if (size > most) return;
    const whole = new Uint8Array(size);
    let at = 0;
    for (const chunk of chunks) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    done(whole);
  });
}
